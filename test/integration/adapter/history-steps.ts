/** What happens in random histories of adapters, and which objects tasks have: history.ts makes it happen on real servers. */
import fc from 'fast-check'
import type { Cluster } from './world.ts'

/** Objects of a resource of a task: by id alone, by generation, two that are deleted in an order, made anew, one that both tasks have, or one of another kind. */
const SHAPES = ['plain', 'numbered', 'ordered', 'anew', 'common', 'secret'] as const
export type Shape = (typeof SHAPES)[number]
const PACES = ['slow', 'fast'] as const
export const TASKS = ['one', 'two'] as const
export type TaskName = (typeof TASKS)[number]
/** Clusters that there are at a time. */
const SLOTS = 3
/** Which paces a task selects. */
const SELECTIONS = [['slow'], ['fast'], ['slow', 'fast']] as const

const slot = fc.nat(SLOTS - 1)
const task = fc.constantFrom(...TASKS)

/** At one of its next requests: of its work to a server, or of its queue of events, which it asks all the time. */
const kill = fc.record({
  does: fc.constant('kill' as const),
  how: fc.constantFrom('SIGKILL' as const, 'SIGTERM' as const),
  at: fc.oneof(
    { weight: 3, arbitrary: fc.record({ of: fc.constant('work' as const), after: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ of: fc.constant('queue' as const), after: fc.nat(6) }) },
  ),
  fate: fc.constantFrom('drop' as const, 'lose' as const),
})

/** Whose requests are refused, or whose answers are lost. */
const FAILING = ['Kubernetes', 'HyperFleet', 'queue'] as const

/** One thing that happens; managers work meanwhile, or are away. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('create' as const), slot, pace: fc.constantFrom(...PACES) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('relabel' as const), slot, pace: fc.constantFrom(...PACES) }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constantFrom('change' as const, 'delete', 'force', 'hold'), slot }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('release' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('shapes' as const),
      task,
      shapes: fc.uniqueArray(fc.constantFrom(...SHAPES)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('select' as const), task, paces: fc.constantFrom(...SELECTIONS) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('remove task' as const), task, sweeps: fc.boolean() }) },
  { weight: 3, arbitrary: kill },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('fail' as const),
      where: fc.constantFrom(...FAILING),
      isDone: fc.boolean(),
      requests: fc.integer({ min: 1, max: 4 }),
    }),
  },
)
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const someSteps = fc.array(step, { minLength: 5, maxLength: 7 })
/** A manager is killed in the middle of each. */
export const history: fc.Arbitrary<readonly Step[]> = fc
  .tuple(someSteps, kill, someSteps)
  .map(([before, killed, after]) => [...before, killed, ...after])

const nameOf = (shape: string, task: string, id: string): string => `${task}-${shape}-${id}`

/** What a shape is for a cluster, by name. */
export const namesOf = (shape: Shape, task: string, { id, generation }: Cluster): readonly string[] => {
  if (shape === 'common') return [nameOf(shape, 'both', id)]
  if (shape === 'ordered') return ['first', 'second'].map((part) => nameOf(part, task, id))
  return [shape === 'numbered' ? `${nameOf(shape, task, id)}-${generation}` : nameOf(shape, task, id)]
}

export const resourcesOf = (shape: Shape, task: string, namespace: string): object[] => {
  const resource = (part: string, rest: object = {}, suffix = '', prefix = task) => {
    const name = nameOf(part, prefix, '{{ .clusterId }}') + suffix
    const kind = shape === 'secret' ? 'Secret' : 'ConfigMap'
    const manifest = { apiVersion: 'v1', kind, metadata: { name, namespace } }
    return { name: part, manifest, discovery: { namespace, by_name: name }, ...rest }
  }
  switch (shape) {
    case 'numbered':
      return [resource(shape, {}, '-{{ .resource.generation }}')]
    case 'ordered':
      return [resource('first', { delete_options: { after: ['second'] } }), resource('second')]
    case 'anew':
      return [resource(shape, { recreate_on_change: true })]
    case 'plain':
    case 'secret':
      return [resource(shape)]
    case 'common':
      return [resource(shape, {}, '', 'both')]
  }
}
