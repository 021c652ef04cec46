/**
 * Objects that several resources and several tasks have, through runs side by side, cut requests and killed managers: what one of them has
 * applied and still wants is never deleted by another, and when all of them are done nothing is there and nothing is written down.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CLUSTERS, type Fault, TASKS, type TaskName, wantedBy } from '#test/worlds/adapter/shared-tasks.ts'
import { SharedWorld } from '#test/worlds/adapter/shared-world.ts'

/** Of a busy machine. */
const TIMEOUT_MS = 240_000

const cluster = fc.constantFrom(...CLUSTERS)
const runsOf = <T extends TaskName>(tasks: readonly T[]) =>
  tasks.flatMap((one) => CLUSTERS.map((id) => ({ task: one, cluster: id })))

/** Some are of tasks, any of which another writer may use. */
const MANAGERS = [
  'kubectl',
  'muster-adapter-gone',
  ...['n/gone', 'm/gone', 'n/left', 'n/right', 'm/far'].map((one) => `muster-adapter-${one}`),
]
const NAMES = [...TASKS, 'far'].flatMap((task) => CLUSTERS.flatMap((id) => wantedBy(task, id)))
const value = fc.constantFrom('red', 'blue')
const name = fc.constantFrom(...new Set(NAMES))
const labels = fc.record(
  {
    'muster.dev/adapter': fc.constantFrom('any', ...TASKS, 'far'),
    'shared.muster.dev/left': value,
    'shared.muster.dev/right': value,
  },
  { requiredKeys: [] },
)
/** Not the mark: where it is overwritten before the API server's answer is written down, nothing shows whose the object is. */
const annotations = fc.record({ 'hyperfleet.io/generation': value })
/** What those do that may write the objects of tasks, and delete none. */
const forgery = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('forge' as const),
      name,
      manager: fc.constantFrom(...MANAGERS),
      fields: fc.record({ labels, annotations, data: fc.record({ colour: value }) }, { requiredKeys: [] }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('unmanage' as const), name }) },
)

const historyOf = (tasks: readonly TaskName[], isForged = false) => {
  const task = fc.constantFrom(...tasks)
  const fault = fc.record({
    task,
    at: fc.nat(16),
    does: fc.constantFrom('refuse', 'cut', 'kill', 'wait'),
    isDone: fc.boolean(),
  })
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        does: fc.constant('run' as const),
        runs: fc.subarray(runsOf(tasks), { minLength: 1 }),
        fault: fc.option(fault, { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), cluster }) },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constant('select' as const), task, cluster, isSelected: fc.boolean() }),
    },
  )
  return fc.record({
    steps: fc.array(isForged ? fc.oneof({ weight: 6, arbitrary: step }, { weight: 1, arbitrary: forgery }) : step, {
      maxLength: 14,
    }),
    isBare: fc.boolean(),
    delays: fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
    lives: fc.subarray([...CLUSTERS]),
  })
}

type Step = ReturnType<typeof historyOf> extends fc.Arbitrary<{ steps: (infer S)[] }> ? S : never

/** Field managers are taken off where every request of a run was answered: of a uid that is not written down, nothing else shows that a second task has the object. */
const act = async (world: SharedWorld, one: Step, steps: readonly Step[]) => {
  const isForged = steps.some(({ does }) => does === 'unmanage')
  if (one.does === 'run') await world.run(one.runs, isForged ? undefined : one.fault)
  else if (one.does === 'delete') world.delete(one.cluster)
  else if (one.does === 'forge') world.forge(one)
  else if (one.does === 'unmanage') world.unmanage(one.name)
  else world.select(one.task, one.cluster, one.isSelected)
}

const EVERYONE = runsOf(TASKS)

test(
  'ADAPTER-86, ADAPTER-88, ADAPTER-96: what is shared stays with the last that has it, and goes with it',
  async () => {
    await fc.assert(
      fc.asyncProperty(historyOf(TASKS, true), async ({ steps, isBare, delays, lives }) => {
        const world = new SharedWorld({ isBare, delays, readsAll: true })
        for (const one of steps) await act(world, one, steps)
        for (const id of CLUSTERS) if (!lives.includes(id)) world.delete(id)
        for (let round = 0; round < 8; round++) await world.run(EVERYONE)
        const served = EVERYONE.filter((one) => world.isServed(one))
        expect(served.filter((one) => world.conditionOf(one, 'Health') !== 'True')).toEqual([])
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
  },
  TIMEOUT_MS,
)

const IN_TWO = { left: 'n', right: 'n', far: 'm' } as const
const IN_TWO_TASKS = Object.keys(IN_TWO) as (keyof typeof IN_TWO)[]
const ALL_RUNS = runsOf(IN_TWO_TASKS)

const run = (
  runs: readonly { readonly task: TaskName; readonly cluster: (typeof CLUSTERS)[number] }[],
  fault?: Fault,
) => ({
  does: 'run' as const,
  runs: [...runs],
  fault,
})

/** Histories that were found once: readings of a second before, runs that are cut in the middle of what they leave again, an object that goes while another joins it. */
const FOUND = [
  {
    history: {
      steps: [
        run([
          { task: 'left', cluster: 'c2' },
          { task: 'far', cluster: 'c2' },
        ]),
        { does: 'unmanage' as const, name: 'all' },
      ],
      isBare: false,
      delays: [0, 1, 0],
      lives: ['c2' as const],
    },
    ending: ['left', 'right'] as const,
    isRemoved: false,
    readsAll: true,
  },
  {
    history: {
      steps: [
        run([
          { task: 'left', cluster: 'c1' },
          { task: 'far', cluster: 'c1' },
        ]),
        run(
          [
            { task: 'left', cluster: 'c2' },
            { task: 'far', cluster: 'c2' },
          ],
          { task: 'far', at: 4, does: 'kill', isDone: false },
        ),
      ],
      isBare: false,
      delays: [1, 0],
      lives: ['c2' as const],
    },
    ending: ['left', 'right'] as const,
    isRemoved: false,
    readsAll: true,
  },
  {
    history: {
      steps: [
        run([
          { task: 'right', cluster: 'c1' },
          { task: 'far', cluster: 'c2' },
        ]),
        run(
          [
            { task: 'right', cluster: 'c2' },
            { task: 'far', cluster: 'c1' },
          ],
          { task: 'far', at: 4, does: 'cut', isDone: false },
        ),
      ],
      isBare: false,
      delays: [0],
      lives: ['c1' as const, 'c2' as const],
    },
    ending: ['left', 'right'] as const,
    isRemoved: false,
    readsAll: true,
  },
  {
    history: {
      steps: [
        run(
          [
            { task: 'left', cluster: 'c1' },
            { task: 'right', cluster: 'c2' },
            { task: 'far', cluster: 'c1' },
          ],
          { task: 'left', at: 0, does: 'wait', isDone: false },
        ),
        { does: 'select' as const, task: 'left' as const, cluster: 'c1' as const, isSelected: false },
        run(
          [
            { task: 'left', cluster: 'c1' },
            { task: 'right', cluster: 'c1' },
          ],
          { task: 'right', at: 10, does: 'kill', isDone: false },
        ),
      ],
      isBare: false,
      delays: [1],
      lives: [],
    },
    ending: ['left', 'right'] as const,
    isRemoved: false,
    readsAll: false,
  },
]

test(
  'ADAPTER-112, ADAPTER-113: tasks of one of two namespaces have an object, which never goes while they have it, and then is the others’',
  async () => {
    const twoNamespaces = fc.record({
      history: historyOf(IN_TWO_TASKS, true),
      ending: fc.constantFrom(['left', 'right'] as const, ['far'] as const, ['left'] as const),
      isRemoved: fc.boolean(),
      readsAll: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(twoNamespaces, async ({ history: { steps, isBare, delays, lives }, ...given }) => {
        const { ending, isRemoved, readsAll } = given
        const world = new SharedWorld({ isBare, delays, tasks: IN_TWO, readsAll })
        // First side by side, then one by one: in step for ever, one that is refused has its field manager on the object each time the other looks.
        // What is refused is tried again seconds later, when inventories of other namespaces are read anew.
        const settle = async (runs: typeof ALL_RUNS) => {
          for (let round = 0; round < 6; round++) await world.rest().then(() => world.run(runs))
          for (let round = 0; round < 2; round++)
            for (const one of runs) await world.rest().then(() => world.run([one]))
        }
        const isHeld = (name: string) => world.recorded().some((one) => one.endsWith(` ${name}`))
        // Where a manager may not read, a field manager that was forged holds an object: ADAPTER-113.
        const isMeant = ({ does }: Step) => readsAll || (does !== 'forge' && does !== 'unmanage')
        for (const one of steps.filter(isMeant)) await act(world, one, steps)
        for (const id of CLUSTERS) if (!lives.includes(id)) world.delete(id)
        await settle(ALL_RUNS)
        expect(world.taken).toEqual([])
        expect(world.cluster.names().filter((name) => !isHeld(name))).toEqual([])

        for (const name of ending)
          if (isRemoved) world.removeTask(name)
          else for (const id of CLUSTERS) world.select(name, id, false)
        const rest = ALL_RUNS.filter((one) => !isRemoved || !(ending as readonly string[]).includes(one.task))
        await settle(rest)
        const served = rest.filter((one) => world.isServed(one))
        const wanted = new Set(served.flatMap((one) => wantedBy(one.task, one.cluster)))
        const there = new Set(world.cluster.names())
        // Where a manager may not read, a person has to say that the task is gone; and two namespaces compete as before.
        const isFree = new Set(served.map((one) => IN_TWO[one.task])).size === 1 && (readsAll || !isRemoved)
        if (isFree) expect(wanted.difference(there)).toEqual(new Set())
        expect([...there].filter((name) => !isHeld(name))).toEqual([])
        expect(world.taken).toEqual([])

        if (!readsAll) return
        for (const id of CLUSTERS) world.delete(id)
        await settle(rest)
        expect(world.taken).toEqual([])
        expect(CLUSTERS.filter((id) => world.isThere(id))).toEqual([])
        const recorded = world.recorded().filter((one) => rest.some(({ task: name }) => one.startsWith(`${name} `)))
        expect(recorded).toEqual([])
        expect(world.cluster.names().filter((name) => !isHeld(name))).toEqual([])
        if (!isRemoved) expect(world.cluster.names()).toEqual([])
      }),
      { numRuns: 100, examples: FOUND.map((one): [typeof one] => [one]) },
    )
  },
  TIMEOUT_MS,
)

const THREE = { left: 'n', right: 'n', far: 'n' } as const
const THREE_TASKS = Object.keys(THREE) as (keyof typeof THREE)[]
const THREE_RUNS = runsOf(THREE_TASKS)

test(
  'ADAPTER-86, ADAPTER-122, ADAPTER-124: what three tasks share, which are changed meanwhile, stays with the last that wants it, and goes with it',
  async () => {
    const task = fc.constantFrom(...THREE_TASKS)
    const change = fc.oneof(
      fc.record({ does: fc.constant('paint' as const), colour: value }),
      fc.record({ does: fc.constant('idle' as const), task }),
      fc.record({ does: fc.constant('change' as const), cluster }),
    )
    const changed = fc.record({
      history: historyOf(THREE_TASKS),
      changes: fc.array(fc.record({ at: fc.nat(14), change }), { maxLength: 4 }),
      backwards: fc.subarray(THREE_TASKS),
      recreates: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(changed, async ({ history: { steps, delays, lives }, changes, backwards, recreates }) => {
        const world = new SharedWorld({ isBare: false, delays, readsAll: true, tasks: THREE, backwards, recreates })
        const idle = new Set<TaskName>()
        for (let at = 0; at < 15; at++) {
          for (const { change: one } of changes.filter((other) => other.at === at))
            if (one.does === 'paint') world.paint(one.colour)
            else if (one.does === 'change') world.change(one.cluster)
            else world.idle(idle.add(one.task) && one.task)
          const next = steps[at]
          if (next !== undefined) await act(world, next, steps)
        }
        for (const id of CLUSTERS) if (!lives.includes(id)) world.delete(id)
        for (let round = 0; round < 8; round++) {
          await world.rest()
          await world.run(THREE_RUNS)
        }
        const served = THREE_RUNS.filter((one) => world.isServed(one))
        expect(served.filter((one) => world.conditionOf(one, 'Health') !== 'True')).toEqual([])
        const wanting = served.filter((one) => !idle.has(one.task))
        expect(new Set(world.cluster.names())).toEqual(
          new Set(wanting.flatMap((one) => wantedBy(one.task, one.cluster))),
        )
        expect(CLUSTERS.filter((id) => !lives.includes(id) && world.isThere(id))).toEqual([])
        // Two that make an object anew at the same time delete it both.
        const isMeant = (one: string) => recreates || [...idle].some((name) => one.includes(` of ${name} `))
        expect(world.taken.filter((one) => !isMeant(one))).toEqual([])
      }),
      { numRuns: 200 },
    )
  },
  TIMEOUT_MS,
)
