/**
 * What a deletion deletes under one name: what the inventory has under it, and what the discovery of the task's resource finds and
 * the task has applied. ADAPTER-63.
 */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { UnknownKindError } from '#operator/client/rest-mapper.ts'
import { isOwn, isProven, keyOfEntry, keyOfObject, lookupOfEntry, type Ownership } from '../../inventory/entry.ts'
import type { JsonObject, PropagationPolicy, TaskResource } from '../../task/task.ts'
import type { Lookup } from '../../transports/transport.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import type { OrderedResource, Presence } from './deletion-order.ts'
import { isTerminating } from './object.ts'
import { renderHeaders, renderLookup } from './render-resource.ts'

/** An object that is there, and how it is reached. */
export interface LocatedObject {
  readonly key: string
  readonly object: JsonObject
  readonly lookup: Lookup
}

export interface DeletionUnit {
  readonly name: string
  /** Undefined when the task does not name it, or no longer. */
  readonly resource: TaskResource | undefined
  readonly policy: PropagationPolicy
  /** What the inventory has under this name. */
  readonly entries: readonly InventoryObject[]
  /** Undefined when it can't be rendered, or is not looked for. */
  readonly lookup: Lookup | undefined
  found: readonly LocatedObject[]
  /** This run has deleted it; it may still be there. */
  requested: boolean
  /** Why it can't be looked at or deleted. */
  failure: unknown
}

/** A failure of the task. @throws what is none, such as the signal's reason */
export const requireTaskError = (error: unknown): TaskError => {
  if (error instanceof TaskError) return error
  throw error
}

/** A resource that can't be observed counts as present: ADAPTER-42. */
export const presenceOf = ({ found, failure, requested }: DeletionUnit): Presence => {
  if (found.length === 0) return failure === undefined ? 'gone' : 'there'
  return requested || found.every(({ object }) => isTerminating(object)) ? 'going' : 'there'
}

export const presences = (units: readonly DeletionUnit[]): ReadonlyMap<string, Presence> =>
  new Map(units.map((unit) => [unit.name, presenceOf(unit)]))

/** @param isGated whether the conditions of the task's resources count */
export const toOrderedUnit = ({ name, policy, resource }: DeletionUnit, isGated: boolean): OrderedResource => ({
  name,
  policy,
  after: resource?.after,
  isGated: isGated && resource?.deleteWhen !== undefined,
})

/** The resources of the task by their discovery, and everything else that the inventory has. */
export const observeAll = (state: RunState, context: RunContext): Promise<readonly DeletionUnit[]> => {
  const { resources } = state.task
  const named = resources.map((resource) => {
    const entries = entriesUnder(resource.name, context)
    return observe({ ...emptyUnit(resource.name, entries), resource, policy: resource.policy }, true, state, context)
  })
  const names = new Set(resources.map(({ name }) => name))
  return Promise.all([...named, ...observeEntries((entry) => !names.has(entry.resource), state, context)])
}

/** What of the inventory is meant, without a look at anything else. */
export const observeInventory = (
  isMeant: (entry: InventoryObject, key: string) => boolean,
  state: RunState,
  context: RunContext,
): Promise<readonly DeletionUnit[]> => Promise.all(observeEntries(isMeant, state, context))

const observeEntries = (
  isMeant: (entry: InventoryObject, key: string) => boolean,
  state: RunState,
  context: RunContext,
): readonly Promise<DeletionUnit>[] => {
  const meant = [...context.inventory.entries].filter(([key, entry]) => isMeant(entry, key)).map(([, entry]) => entry)
  return [...Map.groupBy(meant, ({ resource }) => resource)].map(([name, entries]) => {
    const resource = state.task.resources.find((one) => one.name === name)
    return observe({ ...emptyUnit(name, entries), resource }, false, state, context)
  })
}

const entriesUnder = (name: string, { inventory }: RunContext): readonly InventoryObject[] =>
  [...inventory.entries.values()].filter(({ resource }) => resource === name)

const emptyUnit = (name: string, entries: readonly InventoryObject[]): DeletionUnit => ({
  name,
  resource: undefined,
  policy: entries[0]?.propagationPolicy ?? 'Background',
  entries,
  lookup: undefined,
  found: [],
  requested: false,
  failure: undefined,
})

const observe = async (
  unit: DeletionUnit,
  discovers: boolean,
  state: RunState,
  context: RunContext,
): Promise<DeletionUnit> => {
  let lookup: Lookup | undefined
  try {
    if (discovers && unit.resource !== undefined) lookup = renderLookup(unit.resource, state.scope)
    return { ...unit, lookup, found: await locate({ ...unit, lookup }, discovers, state, context) }
  } catch (error) {
    return { ...unit, lookup, failure: requireTaskError(error) }
  }
}

/**
 * The objects of the unit that are there.
 * @param discovers whether its discovery is looked at; or what that has found
 * @param believesLabels whether the labels of what an earlier release has applied count
 * @throws TaskError, or the signal's reason
 */
export const locate = async (
  { resource, lookup, entries }: Pick<DeletionUnit, 'resource' | 'lookup' | 'entries'>,
  discovers: boolean | readonly JsonObject[],
  state: RunState,
  context: RunContext,
  believesLabels = true,
): Promise<readonly LocatedObject[]> => {
  const { transports, inventory, signal } = context
  const ownership = ownershipOf(state, context)
  const isMeant = believesLabels ? isOwn : isProven
  const owns = (object: JsonObject, { transport }: Lookup) =>
    context.ownsWhatItFinds === true ||
    resource?.adopt === true ||
    // Nothing is written on an object of an HTTP service that could say whose it is.
    (transport.kind === 'http' ? inventory.wasSent(`http ${transport.url}`) : isMeant(object, ownership))
  const found = new Map<string, LocatedObject>()
  const add = (via: Lookup, objects: readonly JsonObject[]) => {
    for (const object of objects) {
      const key = via.transport.kind === 'http' ? `http ${via.transport.url}` : keyOfObject(object)
      if (owns(object, via)) found.set(key, { key, object, lookup: via })
    }
  }
  const discovered = discovers !== false && lookup !== undefined ? keyOfLookup(lookup) : undefined
  if (discovers !== false && lookup !== undefined)
    add(lookup, discovers === true ? await transports[lookup.transport.kind].find(lookup, signal) : discovers)
  const others = entries.filter((entry) => keyOfEntry(entry) !== discovered && !found.has(keyOfEntry(entry)))
  await Promise.all(
    others.map(async (entry) => {
      const via = lookupOfEntry(entry, entry.url === undefined ? {} : headersOf(resource, entry.url, state))
      try {
        add(via, await transports[via.transport.kind].find(via, signal))
      } catch (error) {
        // It is served in no version: with its definition all objects of the kind went too. ADAPTER-80.
        if (!(error instanceof TaskError && error.cause instanceof UnknownKindError)) throw error
      }
    }),
  )
  return [...found.values()]
}

const ownershipOf = ({ task, event }: RunState, { inventory }: RunContext): Ownership => ({
  entries: inventory.entries,
  mark: inventory.mark,
  recordedAt: inventory.recordedAt,
  adapter: task.adapter.name,
  resourceId: event.data.id,
})

/**
 * What expressions may read of what a discovery has found: what the task has applied, where some of it is. With a right to write the labels
 * alone another object could be put beside it, which says that a Job is complete. What is proven goes before labels. ADAPTER-30.
 */
export const preferOwn = (
  found: readonly JsonObject[],
  state: RunState,
  context: RunContext,
): readonly JsonObject[] => {
  if (found.length < 2) return found
  const ownership = ownershipOf(state, context)
  const proven = found.filter((object) => isProven(object, ownership))
  if (proven.length > 0) return proven
  const own = found.filter((object) => isOwn(object, ownership))
  return own.length > 0 ? own : found
}

/** The one object that it can find; undefined when there may be several. */
const keyOfLookup = ({ transport, identity, match }: Lookup): string | undefined => {
  if (transport.kind === 'http') return `http ${transport.url}`
  if (match.kind !== 'name') return undefined
  const { apiVersion, kind } = identity
  const { namespace, name } = match
  return keyOfObject({
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  } as JsonObject)
}

/**
 * Those of the service that has the object. Without them it may answer 404 for what it has: that would never be looked for again.
 * ADAPTER-78. @throws TaskError when they can't be known
 */
const headersOf = (
  resource: TaskResource | undefined,
  url: string,
  { scope }: RunState,
): Readonly<Record<string, string>> => {
  if (resource?.transport.kind === 'http') return renderHeaders(resource.transport.headers, scope)
  throw new TaskError(
    'DiscoveryFailed',
    `${url} is left, and the task does not say any more with which headers it is reached: name the resource again until it is gone`,
  )
}
