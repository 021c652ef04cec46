/**
 * In which order resources are deleted: ADAPTER-35, ADAPTER-36. `delete_options.after` is a graph, and the order is topological.
 */
import type { PropagationPolicy } from '../../task/task.ts'

/** What the order rests on, of each resource in the order of the task's list. */
export interface OrderedResource {
  readonly name: string
  /** It is deleted once these are gone; undefined when nothing was said. */
  readonly after: readonly string[] | undefined
  readonly policy: PropagationPolicy
  /** It has a `lifecycle.delete.when` of its own, which is its order then. */
  readonly isGated: boolean
}

/** For each resource those that must be gone before it, in the order of the list. */
export type DeletionOrder = ReadonlyMap<string, readonly string[]>

/** Why there is no order. Both reasons are reported with Health=False. */
export interface OrderProblem {
  readonly reason: 'InvalidDeletionOrder' | 'InvalidDeletionConfig'
  readonly resource: string
  readonly message: string
}

export type OrderVerdict =
  | { readonly kind: 'order'; readonly waitsFor: DeletionOrder }
  | { readonly kind: 'problem'; readonly problem: OrderProblem }

/**
 * Which resource waits for which. With an `after` anywhere the graph that they make is the order, and what it does not order goes in parallel.
 * With a `lifecycle.delete.when` anywhere these conditions are the order. With neither it is the list, backwards.
 */
export const decideDeletionOrder = (resources: readonly OrderedResource[]): OrderVerdict => {
  const names = resources.map(({ name }) => name)
  for (const { name, after = [] } of resources) {
    const unknown = after.find((other) => !names.includes(other))
    if (unknown !== undefined)
      return invalidOrder(
        'InvalidDeletionConfig',
        name,
        `${name} is to be deleted after ${unknown}, which is no resource of the task: write one of ${names.join(', ')}`,
      )
  }
  const waitsFor = new Map(resources.map((resource, at) => [resource.name, predecessors(resources, resource, at)]))
  const cycle = findCycle(waitsFor)
  if (cycle === undefined) return { kind: 'order', waitsFor }
  const [first = ''] = cycle
  return invalidOrder(
    'InvalidDeletionOrder',
    first,
    `${cycle.join(' waits for ')}: none of them would ever be deleted; take one name out of an after`,
  )
}

const invalidOrder = (reason: OrderProblem['reason'], resource: string, message: string): OrderVerdict => ({
  kind: 'problem',
  problem: { reason, resource, message },
})

const predecessors = (
  resources: readonly OrderedResource[],
  { after }: OrderedResource,
  at: number,
): readonly string[] => {
  if (after !== undefined) return [...new Set(after)]
  if (resources.some((other) => other.after !== undefined || other.isGated)) return []
  const next = resources[at + 1]
  return next === undefined ? [] : [next.name]
}

/** A cycle as the names along it, the first one repeated at its end; undefined when there is none. */
const findCycle = (waitsFor: DeletionOrder): readonly string[] | undefined => {
  const done = new Set<string>()
  const walk = (name: string, path: readonly string[]): readonly string[] | undefined => {
    const seenAt = path.indexOf(name)
    if (seenAt >= 0) return [...path.slice(seenAt), name]
    if (done.has(name)) return undefined
    for (const next of waitsFor.get(name) ?? []) {
      const cycle = walk(next, [...path, name])
      if (cycle !== undefined) return cycle
    }
    done.add(name)
    return undefined
  }
  for (const name of waitsFor.keys()) {
    const cycle = walk(name, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/** What is there of one resource: `gone`, `going` (deleted and still there), or `there`. */
export type Presence = 'there' | 'going' | 'gone'

/** What becomes of each resource now, by name. */
export type DeletionStep =
  | { readonly action: 'delete' }
  /** Something else has to go first, or its own condition is not true yet. */
  | { readonly action: 'wait'; readonly for: readonly string[] }
  /** It is on its way. */
  | { readonly action: 'leave' }
  | { readonly action: 'done' }

/**
 * What to delete now. An orphaning deletion holds nothing up: what waits for it goes ahead with it.
 * @param closed those whose own condition is not true
 */
export const decideDeletions = (
  resources: readonly OrderedResource[],
  waitsFor: DeletionOrder,
  presence: ReadonlyMap<string, Presence>,
  closed: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, DeletionStep> => {
  const orphaning = new Set(resources.filter(({ policy }) => policy === 'Orphan').map(({ name }) => name))
  const isThere = (name: string) => (presence.get(name) ?? 'gone') !== 'gone'
  const stepOf = (name: string): DeletionStep => {
    switch (presence.get(name) ?? 'gone') {
      case 'gone':
        return { action: 'done' }
      case 'going':
        return { action: 'leave' }
      case 'there': {
        const blockers = (waitsFor.get(name) ?? []).filter((other) => isThere(other) && !orphaning.has(other))
        return blockers.length > 0 || closed.has(name) ? { action: 'wait', for: blockers } : { action: 'delete' }
      }
    }
  }
  return new Map(resources.map(({ name }) => [name, stepOf(name)]))
}

/**
 * Those that a deletion still waits for. Everything that is there counts, except an orphaning deletion that was requested.
 * ADAPTER-43: orphaned ones are not waited for.
 */
export const remainingResources = (
  resources: readonly OrderedResource[],
  presence: ReadonlyMap<string, Presence>,
): readonly string[] =>
  resources
    .filter(({ name, policy }) => {
      const present = presence.get(name) ?? 'gone'
      return present === 'there' || (present === 'going' && policy !== 'Orphan')
    })
    .map(({ name }) => name)
