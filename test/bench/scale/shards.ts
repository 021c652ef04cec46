/** Whether more Sentinels share the work of one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, BenchContext } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import type { Figure } from '../report/row.ts'
import { openClusters } from '../sentinel/clusters.ts'
import { createShard, installKind, pulsesOf, untilPulsed } from '../sentinel/config.ts'
import { startApi, startSentinel } from '../sentinel/processes.ts'
import { openStage } from '../stage.ts'

const RESOURCES = 20_000
const SHARDS = [1, 4, 16] as const
/** Of each number of Sentinels. */
const FIGURES = 5
/** Status writes of the pulses before are over by then. */
const QUIET_MS = 15_000

export const scaleShards: Bench = {
  name: 'scale-shards',
  summary: `${SHARDS.join(', ')} Sentinels, each a process with one part of ${RESOURCES.toLocaleString('en')} resources by \`autoShard\`, while these are created: whether each is pulsed once, CPU and memory.`,
  run: async (context) => {
    const figures: Figure[] = []
    for (const shards of SHARDS) {
      const alone = figures.slice(0, FIGURES)
      for (const [position, figure] of (await sharded(context, shards)).entries()) {
        const peer = figure.unit === 'ms/resource' ? alone[position]?.value : undefined
        figures.push({ ...figure, peer: peer == null ? undefined : { name: describe(1), value: peer } })
      }
    }
    context.note(
      'Each Sentinel reads every change of the API and leaves out what is not in its part. So what all of them and the API take together grows with the Sentinels times the changes: that is the term that is not linear. Pulses are divided; what 20,000 resources take is little beside the process itself.',
    )
    context.note('Sentinels, API and load share the cores of the machine: CPU tells more than the time does.')
    return figures
  },
}

const describe = (shards: number): string => `${shards} ${shards === 1 ? 'Sentinel' : 'Sentinels'}`

const sharded = async ({ say, sized }: BenchContext, shards: number): Promise<readonly Figure[]> => {
  await using stage = await openStage(say)
  await using api = await startApi(stage)
  await installKind(stage)
  const names = upTo(shards).map((index) => `shard-${index}`)
  for (const [index, name] of names.entries()) await createShard(stage, api.url, { name, autoShard: { shards, index } })
  await using stack = new AsyncDisposableStack()
  const sentinels = await Promise.all(
    names.map(async (name) => stack.use(await startSentinel(stage, { api: api.url, config: name }))),
  )
  const before = sentinels.map((sentinel) => sentinel.usage().cpuMs)
  const apiBefore = api.usage().cpuMs
  const resources = sized(RESOURCES)
  const where = describe(shards)
  say(`${where}: creating ${resources} clusters`)
  const clusters = openClusters(api.url)
  await clusters.create(resources)
  await clusters.close()
  const at = moment()
  await untilPulsed(stage, resources)
  const took = moment() - at
  await sleep(QUIET_MS)
  const usages = sentinels.map((sentinel) => sentinel.usage())
  const cpu = usages.reduce((sum, { cpuMs }, index) => sum + cpuMs - (before[index] ?? 0), 0)
  return [
    {
      name: `${where}: pulses beyond one of each resource`,
      unit: 'pulses',
      value: (await pulsesOf(stage)) - resources,
      target: { of: 'value', atMost: 0, atLeast: 0 },
    },
    { name: `${where}: the last creation until each is pulsed`, unit: 'ms', value: took },
    { name: `${where}: CPU of all`, unit: 'ms/resource', value: cpu / resources },
    { name: `${where}: CPU of the API`, unit: 'ms/resource', value: (api.usage().cpuMs - apiBefore) / resources },
    { name: `${where}: RSS of the largest`, unit: 'MiB', value: Math.max(...usages.map(({ rssMiB }) => rssMiB)) },
  ]
}
