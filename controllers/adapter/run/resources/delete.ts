/**
 * Phase 3 while the resource is being deleted: deletes the resources of the task in their order, and applies nothing.
 * Seed: adapter-deletion. What deletes at once lets the next ones go in the same run; for the rest a later run follows, when the
 * watch has seen it go.
 */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import type { Sought } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { Surroundings } from '../run-context.ts'
import type { Progress } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { messageOf, note } from './apply.ts'
import {
  type DeletionOrder,
  deletionOrder,
  nextDeletions,
  type Ordered,
  type Presence,
  remaining,
} from './deletion-order.ts'
import { describe, isLeaving, metadataOf } from './object.ts'
import { know } from './record-found.ts'
import { soughtOf } from './render-resource.ts'

export const orderedOf = ({ name, after, policy, deleteWhen }: TaskResource): Ordered => ({
  name,
  after,
  policy,
  isGated: deleteWhen !== undefined,
})

/** One resource while it is being deleted. */
interface Removal {
  readonly resource: TaskResource
  /** Undefined when it can't be rendered. */
  readonly sought: Sought | undefined
  found: readonly JsonObject[]
  /** This run asked for its deletion. */
  asked: boolean
  /** Why it can't be looked at or deleted. */
  failure: unknown
}

/**
 * Deletes what may be deleted now. One failure never stops the others.
 * @returns names of the resources that are still waited for
 * @throws the signal's reason
 */
export const removeResources = async (progress: Progress, surroundings: Surroundings): Promise<readonly string[]> => {
  const { resources } = progress.task
  const verdict = deletionOrder(resources.map(orderedOf))
  if (verdict.kind === 'problem') {
    const { reason, message, resource } = verdict.problem
    progress.fail('resources', resource, new TaskError(reason, message))
    return resources.map(({ name }) => name)
  }
  const removals = await Promise.all(resources.map((resource) => look(resource, progress, surroundings)))
  for (const { resource, found } of removals) know(progress, resource, found)
  while (await deleteOnce(removals, verdict.waitsFor, progress, surroundings));
  return tell(removals, verdict.waitsFor, progress)
}

/** Looks without touching anything: what a deletion whose preconditions are not met would still have to wait for. */
export const lookOnly = async (progress: Progress, surroundings: Surroundings): Promise<readonly string[]> => {
  const removals = await Promise.all(progress.task.resources.map((resource) => look(resource, progress, surroundings)))
  for (const { resource, sought, found, failure } of removals) {
    know(progress, resource, found)
    if (failure !== undefined) progress.fail('resources', resource.name, failure)
    note(progress, resource.name, found.length === 0 ? 'gone' : 'kept', sought, undefined)
  }
  return removals.filter(({ found, failure }) => found.length > 0 || failure !== undefined).map(nameOf)
}

const nameOf = ({ resource }: Removal): string => resource.name

const look = async (
  resource: TaskResource,
  progress: Progress,
  { transports, signal }: Surroundings,
): Promise<Removal> => {
  const removal: Removal = { resource, sought: undefined, found: [], asked: false, failure: undefined }
  try {
    const sought = soughtOf(resource, progress.scope)
    return { ...removal, sought, found: await transports[sought.reach.kind].find(sought, signal) }
  } catch (error) {
    return { ...removal, failure: expected(error) }
  }
}

/** A failure of the task. @throws what is none, such as the signal's reason */
const expected = (error: unknown): TaskError => {
  if (error instanceof TaskError) return error
  throw error
}

/** What could not be looked at counts as there: nobody knows that it is gone. */
const presenceOf = ({ found, failure, asked }: Removal): Presence => {
  if (found.length === 0) return failure === undefined ? 'gone' : 'there'
  return asked || found.every(isLeaving) ? 'going' : 'there'
}

const presences = (removals: readonly Removal[]): ReadonlyMap<string, Presence> =>
  new Map(removals.map((removal) => [nameOf(removal), presenceOf(removal)]))

/** Deletes everything that may go now, side by side. @returns whether something went, so that others may follow at once */
const deleteOnce = async (
  removals: readonly Removal[],
  waitsFor: DeletionOrder,
  progress: Progress,
  surroundings: Surroundings,
): Promise<boolean> => {
  const closed = closedGates(removals, progress)
  const steps = nextDeletions(
    removals.map(({ resource }) => orderedOf(resource)),
    waitsFor,
    presences(removals),
    closed,
  )
  const chosen = removals.filter(
    (removal) => steps.get(nameOf(removal))?.action === 'delete' && removal.failure === undefined,
  )
  await Promise.all(chosen.map((removal) => remove(removal, surroundings)))
  for (const { resource, found } of chosen) know(progress, resource, found)
  return chosen.some(({ found, failure }) => found.length === 0 && failure === undefined)
}

/** Those whose own condition is not true. One that has no value is a failure of that resource alone. */
const closedGates = (removals: readonly Removal[], { scope }: Progress): ReadonlySet<string> => {
  const closed = new Set<string>()
  for (const removal of removals) {
    const { deleteWhen, name } = removal.resource
    if (deleteWhen === undefined || removal.found.length === 0 || removal.asked) continue
    try {
      if (!isTrue(deleteWhen.text, deleteWhen.evaluate(scope))) closed.add(name)
    } catch (error) {
      removal.failure = expected(error)
      closed.add(name)
    }
  }
  return closed
}

/** All matches of the resource, whatever generation they are of. */
const remove = async (removal: Removal, { transports, signal }: Surroundings): Promise<void> => {
  const { sought, resource, found } = removal
  if (sought === undefined) return
  const transport = transports[sought.reach.kind]
  removal.asked = true
  const wanted = found.filter((object) => !isLeaving(object))
  const results = await Promise.allSettled(
    wanted.map((object) => transport.delete(sought, object, resource.policy, signal)),
  )
  signal.throwIfAborted()
  const refused = results.find((result) => result.status === 'rejected')
  try {
    removal.found = await transport.find(sought, signal)
    if (refused !== undefined) removal.failure = expected(refused.reason)
  } catch (error) {
    removal.failure = expected(error)
  }
  if (removal.failure !== undefined) removal.asked = false
}

/** Notes what became of each, and returns what is still waited for. */
const tell = (removals: readonly Removal[], waitsFor: DeletionOrder, progress: Progress): readonly string[] => {
  const ordered = removals.map(({ resource }) => orderedOf(resource))
  const presence = presences(removals)
  const steps = nextDeletions(ordered, waitsFor, presence)
  for (const removal of removals) {
    const { resource, sought, failure } = removal
    if (failure !== undefined) progress.fail('resources', resource.name, failure)
    const step = steps.get(resource.name)
    const blockers = step?.action === 'wait' ? step.for : []
    note(
      progress,
      resource.name,
      actionOf(removal),
      sought,
      failure === undefined ? why(removal, blockers) : messageOf(failure),
    )
  }
  return remaining(ordered, presence)
}

const actionOf = ({ found, failure, asked }: Removal): ResourceAction => {
  if (failure !== undefined) return 'failed'
  if (found.length === 0) return asked ? 'deleted' : 'gone'
  return asked || found.every(isLeaving) ? 'leaving' : 'waiting'
}

/** What it waits for, for people. */
const why = ({ found, resource }: Removal, blockers: readonly string[]): string | undefined => {
  if (blockers.length > 0) return `waits for ${blockers.join(', ')}`
  const held = found.find((object) => (metadataOf(object).finalizers ?? []).length > 0)
  if (held !== undefined) return `${describe(held)} is held by ${(metadataOf(held).finalizers ?? []).join(', ')}`
  if (found.some((object) => !isLeaving(object)) && resource.deleteWhen !== undefined)
    return `${resource.deleteWhen.text} is false`
  return undefined
}
