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

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const act = async (world: SharedWorld, one: Step) => {
  if (one.does === 'run') await world.run(one.runs, one.fault)
  else if (one.does === 'delete') world.delete(one.cluster)
  else world.select(one.task, one.cluster, one.isSelected)
}

test('ADAPTER-86, ADAPTER-88, ADAPTER-96: what is shared stays with the last that has it, and goes with it', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ steps, isBare, delays, lives }) => {
      const world = new SharedWorld({ isBare, delays })
      for (const one of steps) await act(world, one)
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

const elsewhere = { left: 'n', right: 'm' } as const
const runsOf = (name: string) => EVERYONE.filter((one) => one.task === name)

test('ADAPTER-112, ADAPTER-113: of tasks of two namespaces one has an object, which never goes while that one has it, and then is the other one’s', async () => {
  const twoNamespaces = fc.record({ history, isRemoved: fc.boolean(), readsAll: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(twoNamespaces, async ({ history: { steps, isBare, delays, lives }, isRemoved, readsAll }) => {
      // Where a manager may not look, a person has to say that the task is gone.
      const canFollow = readsAll || !isRemoved
      const world = new SharedWorld({ isBare, delays, namespaces: elsewhere, readsAll })
      const settle = async (runs: typeof EVERYONE) => {
        for (let round = 0; round < 8; round++) await world.run(runs)
      }
      for (const one of steps) await act(world, one)
      for (const id of CLUSTERS) if (!lives.includes(id)) world.delete(id)
      await settle(EVERYONE)
      expect(world.taken).toEqual([])
      const held = (name: string) => world.recorded().some((one) => one.endsWith(` ${name}`))
      expect(world.cluster.names().filter((name) => !held(name))).toEqual([])

      if (isRemoved) world.removeTask('left')
      else for (const id of CLUSTERS) world.select('left', id, false)
      const rest = isRemoved ? runsOf('right') : EVERYONE
      await settle(rest)
      const wanted = rest.filter((one) => world.isServed(one)).flatMap((one) => wantedBy(one.task, one.cluster))
      const there = new Set(world.cluster.names())
      if (canFollow) expect(new Set(wanted).difference(there)).toEqual(new Set())
      expect([...there].filter((name) => !held(name))).toEqual([])

      for (const id of CLUSTERS) world.delete(id)
      await settle(rest)
      expect(world.taken).toEqual([])
      expect(CLUSTERS.filter((id) => world.isThere(id))).toEqual([])
      expect(world.recorded().filter((one) => one.startsWith('right'))).toEqual([])
      expect(world.cluster.names().filter((name) => !held(name))).toEqual([])
      if (!isRemoved) expect(world.cluster.names()).toEqual([])
    }),
    { numRuns: 300 },
  )
})
