import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import { percentile } from '../measure/statistics.ts'
import { openStage, type Stage } from '../stage.ts'

const OBJECTS = 100
const CHANGES = 400
/** Slow enough that no contestant has a queue: what is measured is the way through, not the throughput. */
const PER_SECOND = 20

export const latency: Bench = {
  name: 'runtime-latency',
  summary: `From the request that changes an object until a watch shows it Ready for the new generation; ${PER_SECOND} changes per second over ${OBJECTS} objects.`,
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('serve', context)
    const compare = await compete(playing, context, {
      label: `${CHANGES} paced changes`,
      rounds: 3,
      measure: (contestant) => paced(contestant, stage),
    })
    return [
      ...compare('p50', 'paced change until served, p50', 'ms', { of: 'ratio', atMost: 1.5 }),
      ...compare('p99', 'paced change until served, p99', 'ms'),
    ]
  },
}

const paced = async (contestant: Contestant, stage: Stage) => {
  await using load = await stage.load()
  // Awaited here: the load must not end before the contestant's work does.
  return await withContestant(contestant, 'serve', stage, async () => {
    await load.create(OBJECTS, 0)
    await load.served(OBJECTS)
    // Some seconds unmeasured: just-in-time compilers and connection pools get warm.
    await load.pace(OBJECTS, OBJECTS, PER_SECOND)
    const served = await load.pace(OBJECTS, CHANGES, PER_SECOND)
    await load.clear()
    const milliseconds = served.map(({ sentAt, servedAt }) => servedAt - sentAt)
    return { p50: percentile(milliseconds, 0.5), p99: percentile(milliseconds, 0.99) }
  })
}
