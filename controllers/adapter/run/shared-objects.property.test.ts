/**
 * Objects that several resources and several tasks have, through runs side by side, cut requests and killed managers: what one of them has
 * applied and still wants is never deleted by another, and when all of them are done nothing is there and nothing is written down.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CLUSTERS, SharedWorld, TASKS, wantedBy } from '#test/worlds/adapter/shared-world.ts'

const task = fc.constantFrom(...TASKS)
const cluster = fc.constantFrom(...CLUSTERS)
const EVERYONE = TASKS.flatMap((one) => CLUSTERS.map((id) => ({ task: one, cluster: id })))

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('run' as const),
      runs: fc.subarray(EVERYONE, { minLength: 1 }),
      fault: fc.option(
        fc.record({
          task,
          at: fc.nat(16),
          does: fc.constantFrom('refuse', 'cut', 'kill'),
          isDone: fc.boolean(),
        }),
        { nil: undefined },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), cluster }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('select' as const), task, cluster, isSelected: fc.boolean() }),
  },
)

const history = fc.record({
  steps: fc.array(step, { maxLength: 14 }),
  isBare: fc.boolean(),
  delays: fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
  lives: fc.subarray([...CLUSTERS]),
})

test('ADAPTER-86, ADAPTER-88, ADAPTER-96: what is shared stays with the last that has it, and goes with it', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ steps, isBare, delays, lives }) => {
      const world = new SharedWorld(isBare, delays)
      for (const one of steps) {
        if (one.does === 'run') await world.run(one.runs, one.fault)
        else if (one.does === 'delete') world.delete(one.cluster)
        else world.select(one.task, one.cluster, one.isSelected)
      }
      for (const id of CLUSTERS) if (!lives.includes(id)) world.delete(id)
      for (let round = 0; round < 8; round++) await world.run(EVERYONE)
      const served = EVERYONE.filter((one) => world.isServed(one))
      const wanted = new Set(served.flatMap((one) => wantedBy(one.task, one.cluster)))
      expect(world.taken).toEqual([])
      expect(new Set(world.cluster.names())).toEqual(wanted)
      expect(CLUSTERS.filter((id) => !lives.includes(id) && world.isThere(id))).toEqual([])
      const recorded = served.flatMap((one) =>
        wantedBy(one.task, one.cluster).map((name) => `${one.task} ${one.cluster} ${name}`),
      )
      expect(world.recorded().toSorted()).toEqual(recorded.toSorted())
    }),
    { numRuns: 300 },
  )
})
