import type { Bench, BenchContext } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import { median, percentile } from '../measure/statistics.ts'
import type { Figure } from '../report/row.ts'
import { claim, fill, hibernate, remove, removeLab, resize, untilReady } from './pool.ts'
import { type RunningUp, startUp, timeOnce } from './up.ts'

/** As many as the quota of the service that `npm run up` starts. */
const AT_ONCE = 4
const ALONE = 3
const CLAIMS = 100
/** That run and wait while claims are made; one more is being made, and one goes. */
const STANDBY = 2
const MIB_EACH = 350

export const clusters: Bench = {
  name: 'clusters',
  summary:
    'Real clusters of the provider `local`, in an `npm run up` of their own: made, claimed with the kubeconfig used, and put to sleep.',
  run: async (context) => {
    const { say } = context
    say('npm run up -- --once')
    const once = await timeOnce()
    say('npm run up')
    await using up = await startUp()
    await removeLab(up.server)
    const figures: Figure[] = []
    for (const part of [alone, beside, atOnce, claims]) figures.push(...(await part(up, context)))
    return [
      {
        name: 'npm run up -- --once',
        unit: 'ms',
        value: once,
        target: { of: 'value', atMost: 90_000 },
      },
      ...figures,
    ]
  },
}

const alone = async ({ server, memory }: RunningUp, { say, sized }: BenchContext): Promise<readonly Figure[]> => {
  const took: number[] = []
  const memories: number[] = []
  for (const round of upTo(sized(ALONE))) {
    say(`one new cluster, round ${round + 1}`)
    took.push(await fill(server, 1))
    memories.push(memory().proportional)
    await remove(server)
  }
  return [
    { name: 'a new cluster until it runs', unit: 'ms', value: median(took), target: { of: 'value', atMost: 10_000 } },
    {
      name: 'memory of a cluster that is alone, with all of the programs’ text',
      unit: 'MiB',
      value: median(memories),
      target: { of: 'value', atMost: MIB_EACH },
    },
  ]
}

const beside = async ({ server }: RunningUp, { say, sized }: BenchContext): Promise<readonly Figure[]> => {
  await fill(server, STANDBY)
  const took: number[] = []
  for (const round of upTo(sized(ALONE))) {
    say(`one new cluster beside ${STANDBY} others, round ${round + 1}`)
    took.push(await resize(server, STANDBY + 1))
    await resize(server, STANDBY)
  }
  await remove(server)
  return [
    {
      name: `a new cluster beside ${STANDBY} others until it runs`,
      unit: 'ms',
      value: median(took),
      target: { of: 'value', atMost: 10_000 },
    },
  ]
}

const atOnce = async ({ server, memory }: RunningUp, { say }: BenchContext): Promise<readonly Figure[]> => {
  say(`${AT_ONCE} new clusters at once`)
  const took = await fill(server, AT_ONCE)
  const { own, proportional } = memory()
  say('all of them to sleep')
  await hibernate(server)
  const asleep = memory().proportional
  await remove(server)
  return [
    {
      name: `${AT_ONCE} new clusters until all run`,
      unit: 'ms',
      value: took,
      target: { of: 'value', atMost: 30_000 },
    },
    {
      name: 'memory of a cluster, with its share of the programs’ text',
      unit: 'MiB',
      value: proportional / AT_ONCE,
      target: { of: 'value', atMost: MIB_EACH },
    },
    { name: 'memory of a cluster, its own alone', unit: 'MiB', value: own / AT_ONCE },
    {
      name: 'memory of the clusters that sleep',
      unit: 'MiB',
      value: asleep,
      target: { of: 'value', atMost: 0 },
    },
  ]
}

const claims = async ({ server }: RunningUp, { say, sized }: BenchContext): Promise<readonly Figure[]> => {
  const count = sized(CLAIMS)
  say(`${count} claims of running clusters, one after the other`)
  await fill(server, STANDBY)
  const took: number[] = []
  for (const index of upTo(count)) {
    await untilReady(server, STANDBY)
    took.push(await claim(server, `bench-${index}`))
  }
  return [
    { name: 'claim until its kubeconfig answers, p50', unit: 'ms', value: percentile(took, 0.5) },
    {
      name: 'claim until its kubeconfig answers, p99',
      unit: 'ms',
      value: percentile(took, 0.99),
      target: { of: 'value', atMost: 1_000 },
    },
  ]
}
