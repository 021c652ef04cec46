/**
 * Phase 3 while the resource is being deleted: deletes the resources of the task in their order, and applies nothing (ADAPTER-34).
 * An object that is gone at once lets the next ones go in the same run; for the others a later run follows, when the watch has seen
 * their end (ADAPTER-37).
 */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { messageOf } from '#operator/client/errors.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import type { Lookup } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import {
  type DeletionOrder,
  decideDeletionOrder,
  decideDeletions,
  type OrderedResource,
  type Presence,
  remainingResources,
} from './deletion-order.ts'
import { describeObject, isTerminating, metadataOf } from './object.ts'
import { recordFound, recordStep } from './record.ts'
import { renderLookup } from './render-resource.ts'

export const toOrderedResource = ({ name, after, policy, deleteWhen }: TaskResource): OrderedResource => ({
  name,
  after,
  policy,
  isGated: deleteWhen !== undefined,
})

/** One resource while it is being deleted. */
interface Deletion {
  readonly resource: TaskResource
  /** Undefined when it can't be rendered. */
  readonly lookup: Lookup | undefined
  found: readonly JsonObject[]
  /** This run has deleted it; it may still be there. */
  requested: boolean
  /** Why it can't be looked at or deleted. */
  failure: unknown
}

/**
 * Deletes what may be deleted now. One failure never stops the others: ADAPTER-40.
 * @returns names of the resources that are still waited for
 * @throws the signal's reason
 */
export const deleteResources = async (state: RunState, context: RunContext): Promise<readonly string[]> => {
  const { resources } = state.task
  const verdict = decideDeletionOrder(resources.map(toOrderedResource))
  if (verdict.kind === 'problem') {
    const { reason, message, resource } = verdict.problem
    state.fail('resources', resource, new TaskError(reason, message))
    return resources.map(({ name }) => name)
  }
  const deletions = await Promise.all(resources.map((resource) => observe(resource, state, context)))
  for (const { resource, found } of deletions) recordFound(state, resource, found)
  while (await deleteOnce(deletions, verdict.waitsFor, state, context));
  return recordSteps(deletions, verdict.waitsFor, state)
}

/** Deletes nothing: which resources a deletion whose preconditions are not met has to wait for. ADAPTER-44. */
export const observeOnly = async (state: RunState, context: RunContext): Promise<readonly string[]> => {
  const deletions = await Promise.all(state.task.resources.map((resource) => observe(resource, state, context)))
  for (const { resource, lookup, found, failure } of deletions) {
    recordFound(state, resource, found)
    if (failure !== undefined) state.fail('resources', resource.name, failure)
    recordStep(state, resource.name, found.length === 0 ? 'gone' : 'kept', lookup, undefined)
  }
  return deletions.filter(({ found, failure }) => found.length > 0 || failure !== undefined).map(nameOf)
}

const nameOf = ({ resource }: Deletion): string => resource.name

const observe = async (
  resource: TaskResource,
  state: RunState,
  { transports, signal }: RunContext,
): Promise<Deletion> => {
  const deletion: Deletion = { resource, lookup: undefined, found: [], requested: false, failure: undefined }
  try {
    const lookup = renderLookup(resource, state.scope)
    return { ...deletion, lookup, found: await transports[lookup.transport.kind].find(lookup, signal) }
  } catch (error) {
    return { ...deletion, failure: requireTaskError(error) }
  }
}

/** A failure of the task. @throws what is none, such as the signal's reason */
const requireTaskError = (error: unknown): TaskError => {
  if (error instanceof TaskError) return error
  throw error
}

/** A resource that can't be observed counts as present: ADAPTER-42. */
const toPresence = ({ found, failure, requested }: Deletion): Presence => {
  if (found.length === 0) return failure === undefined ? 'gone' : 'there'
  return requested || found.every(isTerminating) ? 'going' : 'there'
}

const presences = (deletions: readonly Deletion[]): ReadonlyMap<string, Presence> =>
  new Map(deletions.map((deletion) => [nameOf(deletion), toPresence(deletion)]))

/** Deletes everything that may go now, in parallel. @returns whether an object is gone, so that others may follow at once */
const deleteOnce = async (
  deletions: readonly Deletion[],
  waitsFor: DeletionOrder,
  state: RunState,
  context: RunContext,
): Promise<boolean> => {
  const closed = closedGates(deletions, state)
  const steps = decideDeletions(
    deletions.map(({ resource }) => toOrderedResource(resource)),
    waitsFor,
    presences(deletions),
    closed,
  )
  const chosen = deletions.filter(
    (deletion) => steps.get(nameOf(deletion))?.action === 'delete' && deletion.failure === undefined,
  )
  await Promise.all(chosen.map((deletion) => deleteMatches(deletion, context)))
  for (const { resource, found } of chosen) recordFound(state, resource, found)
  return chosen.some(({ found, failure }) => found.length === 0 && failure === undefined)
}

/** Those whose own condition is not true. One that has no value is a failure of that resource alone. */
const closedGates = (deletions: readonly Deletion[], { scope }: RunState): ReadonlySet<string> => {
  const closed = new Set<string>()
  for (const deletion of deletions) {
    const { deleteWhen, name } = deletion.resource
    if (deleteWhen === undefined || deletion.found.length === 0 || deletion.requested) continue
    try {
      if (!isTrue(deleteWhen.text, deleteWhen.evaluate(scope))) closed.add(name)
    } catch (error) {
      deletion.failure = requireTaskError(error)
      closed.add(name)
    }
  }
  return closed
}

/** All matches of the resource, whatever generation they are of: ADAPTER-38. */
const deleteMatches = async (deletion: Deletion, { transports, signal }: RunContext): Promise<void> => {
  const { lookup, resource, found } = deletion
  if (lookup === undefined) return
  const transport = transports[lookup.transport.kind]
  deletion.requested = true
  const living = found.filter((object) => !isTerminating(object))
  const results = await Promise.allSettled(
    living.map((object) => transport.delete(lookup, object, resource.policy, signal)),
  )
  signal.throwIfAborted()
  const refused = results.find((result) => result.status === 'rejected')
  try {
    deletion.found = await transport.find(lookup, signal)
    if (refused !== undefined) deletion.failure = requireTaskError(refused.reason)
  } catch (error) {
    deletion.failure = requireTaskError(error)
  }
  if (deletion.failure !== undefined) deletion.requested = false
}

/** Records the outcome of each. @returns names of the resources that are still waited for */
const recordSteps = (deletions: readonly Deletion[], waitsFor: DeletionOrder, state: RunState): readonly string[] => {
  const ordered = deletions.map(({ resource }) => toOrderedResource(resource))
  const presence = presences(deletions)
  const steps = decideDeletions(ordered, waitsFor, presence)
  for (const deletion of deletions) {
    const { resource, lookup, failure } = deletion
    if (failure !== undefined) state.fail('resources', resource.name, failure)
    const step = steps.get(resource.name)
    const blockers = step?.action === 'wait' ? step.for : []
    recordStep(
      state,
      resource.name,
      toAction(deletion),
      lookup,
      failure === undefined ? waitReason(deletion, blockers) : messageOf(failure),
    )
  }
  return remainingResources(ordered, presence)
}

const toAction = ({ found, failure, requested }: Deletion): ResourceAction => {
  if (failure !== undefined) return 'failed'
  if (found.length === 0) return requested ? 'deleted' : 'gone'
  return requested || found.every(isTerminating) ? 'leaving' : 'waiting'
}

/** What a resource waits for, as people read it. */
const waitReason = ({ found, resource }: Deletion, blockers: readonly string[]): string | undefined => {
  if (blockers.length > 0) return `waits for ${blockers.join(', ')}`
  const held = found.find((object) => (metadataOf(object).finalizers ?? []).length > 0)
  if (held !== undefined) return `${describeObject(held)} is held by ${(metadataOf(held).finalizers ?? []).join(', ')}`
  if (found.some((object) => !isTerminating(object)) && resource.deleteWhen !== undefined)
    return `${resource.deleteWhen.text} is false`
  return undefined
}
