import { setTimeout as sleep } from 'node:timers/promises'
import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench, BenchContext } from '../definition.ts'
import { moment } from '../load/moment.ts'
import type { Load } from '../load/process.ts'
import { readRequests, requestsBetween } from '../measure/apiserver.ts'
import { openStage, type Stage } from '../stage.ts'
import { warmUp } from './warm-up.ts'

const OBJECTS = 10_000
/** Longer than a bookmark interval and than the inactivity timeout of a watch. */
const WINDOW_MS = 90_000

export const idle: Bench = {
  name: 'runtime-idle',
  summary: `${OBJECTS.toLocaleString('en')} served objects and no change for ${WINDOW_MS / 1000} s: requests that the API server answered, without watches and leases, and the operator's CPU.`,
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('serve', context)
    await using load = await stage.load()
    const warmedUp = await warmUp(playing, OBJECTS, stage, load, context)
    context.say('counting what the API server is asked without any operator')
    const baseline = total(await requestsDuring(stage, WINDOW_MS))
    const compare = await compete(warmedUp, context, {
      label: 'idle',
      rounds: 1,
      measure: (contestant) => idling(contestant, stage, load, baseline, context),
    })
    return [
      ...compare('requests', `idle: requests in ${WINDOW_MS / 1000} s`, 'requests', { of: 'value', atMost: 0 }),
      ...compare('cpu', 'idle: operator CPU', '% of a core', { of: 'value', atMost: 1 }),
      ...compare('rss', 'idle: RSS', 'MiB'),
    ]
  },
}

const idling = async (contestant: Contestant, stage: Stage, load: Load, baseline: number, { note }: BenchContext) =>
  withContestant(contestant, 'serve', stage, async ({ usage }) => {
    await load.change([0])
    await load.changed()
    await load.quiet(10_000)
    const before = usage()
    const start = moment()
    const requests = await requestsDuring(stage, WINDOW_MS)
    const after = usage()
    const extra = Math.max(0, total(requests) - baseline)
    if (extra > 0)
      note(`${contestant.name} asked while idle: ${requests.map((request) => request.join(' ')).join(', ')}`)
    return {
      requests: extra,
      cpu: (100 * (after.cpuMs - before.cpuMs)) / (moment() - start),
      rss: after.rssMiB,
    }
  })

const requestsDuring = async ({ server }: Stage, milliseconds: number) => {
  const before = await readRequests(server)
  await sleep(milliseconds)
  return requestsBetween(before, await readRequests(server))
}

const total = (requests: Awaited<ReturnType<typeof requestsDuring>>): number =>
  requests.reduce((sum, [, count]) => sum + count, 0)
