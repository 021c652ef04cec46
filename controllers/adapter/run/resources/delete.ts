/**
 * Phase 3 while the resource is being deleted: deletes what the task has applied for it in its order, and applies nothing (ADAPTER-34).
 * An object that is gone at once lets the next ones go in the same run; for the others a later run follows, when the watch has seen
 * their end (ADAPTER-37). The same work takes away what no run applies any longer: sweep.ts.
 */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { TaskResource } from '../../task/task.ts'
import type { DeletionOutcome } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { deleteObject } from './delete-object.ts'
import {
  type DeletionOrder,
  decideDeletionOrder,
  decideDeletions,
  type OrderedResource,
  remainingResources,
} from './deletion-order.ts'
import {
  type DeletionUnit,
  locate,
  observeAll,
  preferOwn,
  presenceOf,
  presences,
  requireTaskError,
  toOrderedUnit,
} from './deletion-unit.ts'
import { listLeft } from './left-objects.ts'
import { describeObject, isTerminating, metadataOf } from './object.ts'
import { recordFound, recordStep } from './record.ts'

export const toOrderedResource = ({ name, after, policy, deleteWhen }: TaskResource): OrderedResource => ({
  name,
  after,
  policy,
  isGated: deleteWhen !== undefined,
})

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
  const units = await observeFresh(state, context)
  if (units === undefined) return resources.map(({ name }) => name)
  recordUnits(units, state, context)
  return deleteUnits(
    units,
    { waitsFor: withUnnamed(verdict.waitsFor, units), isGated: true, discovers: true },
    state,
    context,
  )
}

/** Deletes nothing: which resources a deletion whose preconditions are not met has to wait for. ADAPTER-44. */
export const observeOnly = async (state: RunState, context: RunContext): Promise<readonly string[]> => {
  const units = await observeFresh(state, context)
  if (units === undefined) return state.task.resources.map(({ name }) => name)
  recordUnits(units, state, context)
  for (const { name, lookup, found, failure } of units) {
    if (failure !== undefined) state.fail('resources', name, failure)
    recordStep(state, name, found.length === 0 ? 'gone' : 'kept', lookup ?? found[0]?.lookup, undefined)
  }
  dropGone(units, context)
  state.left = listLeft(units)
  return units.filter(({ found, failure }) => found.length > 0 || failure !== undefined).map(({ name }) => name)
}

/** With the inventory as it is kept now. Undefined when that can't be read, which is recorded as a failure. */
const observeFresh = async (state: RunState, context: RunContext): Promise<readonly DeletionUnit[] | undefined> => {
  const isRead = await state.attempt('resources', () => context.inventory.refresh(context.signal))
  return isRead ? observeAll(state, context) : undefined
}

/** Those that the task does not name any more wait for what they were applied to wait for. */
export const withUnnamed = (waitsFor: DeletionOrder, units: readonly DeletionUnit[]): DeletionOrder => {
  const names = new Set(units.map(({ name }) => name))
  const unnamed = units
    .filter(({ name }) => !waitsFor.has(name))
    .map(({ name, entries }) => {
      const after = new Set(entries.flatMap((entry) => entry.after ?? []))
      return [name, [...after].filter((other) => names.has(other) && other !== name)] as const
    })
  return new Map([...waitsFor, ...unnamed])
}

export interface DeletionRun {
  readonly waitsFor: DeletionOrder
  /** Whether the conditions of the task's resources count. */
  readonly isGated: boolean
  /** Whether objects are looked for beside those of the inventory. */
  readonly discovers: boolean
}

/** Deletes what is there in the order. @returns names of what is still waited for. @throws the signal's reason */
export const deleteUnits = async (
  units: readonly DeletionUnit[],
  deletion: DeletionRun,
  state: RunState,
  context: RunContext,
): Promise<readonly string[]> => {
  while (await deleteOnce(units, deletion, state, context));
  dropGone(units, context)
  return recordSteps(units, deletion, state)
}

/** Lets expressions read what is there of each resource. */
const recordUnits = (units: readonly DeletionUnit[], state: RunState, context: RunContext): void => {
  for (const { resource, found } of units) {
    const objects = found.map(({ object }) => object)
    if (resource !== undefined) recordFound(state, resource, preferOwn(objects, state, context))
  }
}

/** Of the inventory what is not there, and what is orphaned: nothing waits for that. */
const dropGone = (units: readonly DeletionUnit[], { inventory }: RunContext): void => {
  for (const unit of units) {
    const { entries, found, failure, policy } = unit
    if (failure !== undefined) continue
    const isDone = policy === 'Orphan' && presenceOf(unit) === 'going'
    const there = new Set(isDone ? [] : found.map(({ key }) => key))
    const keys = [...inventory.entries].filter(([, entry]) => entries.includes(entry)).map(([key]) => key)
    inventory.drop(keys.filter((key) => !there.has(key)))
  }
}

/** Deletes everything that may go now, in parallel. @returns whether an object is gone, so that others may follow at once */
const deleteOnce = async (
  units: readonly DeletionUnit[],
  { waitsFor, isGated, discovers }: DeletionRun,
  state: RunState,
  context: RunContext,
): Promise<boolean> => {
  const closed = isGated ? closedGates(units, state) : new Set<string>()
  const ordered = units.map((unit) => toOrderedUnit(unit, isGated))
  const steps = decideDeletions(ordered, waitsFor, presences(units), closed)
  const chosen = units.filter((unit) => steps.get(unit.name)?.action === 'delete' && unit.failure === undefined)
  await Promise.all(chosen.map((unit) => deleteFound(unit, discovers, state, context)))
  recordUnits(chosen, state, context)
  return chosen.some(({ found, failure }) => found.length === 0 && failure === undefined)
}

/** Those whose own condition is not true. One that has no value is a failure of that resource alone. */
const closedGates = (units: readonly DeletionUnit[], { scope }: RunState): ReadonlySet<string> => {
  const closed = new Set<string>()
  for (const unit of units) {
    const deleteWhen = unit.resource?.deleteWhen
    if (deleteWhen === undefined || unit.found.length === 0 || unit.requested) continue
    try {
      if (!isTrue(deleteWhen.text, deleteWhen.evaluate(scope))) closed.add(unit.name)
    } catch (error) {
      unit.failure = requireTaskError(error)
      closed.add(unit.name)
    }
  }
  return closed
}

const hasOutcome = (result: PromiseSettledResult<DeletionOutcome> | undefined, outcome: DeletionOutcome): boolean =>
  result?.status === 'fulfilled' && result.value === outcome

/** All objects of the unit, whatever generation they are of: ADAPTER-38. */
const deleteFound = async (
  unit: DeletionUnit,
  discovers: boolean,
  state: RunState,
  context: RunContext,
): Promise<void> => {
  const { inventory, signal } = context
  unit.requested = true
  const living = unit.found.filter(({ object }) => !isTerminating(object))
  const results = await Promise.allSettled(living.map((one) => deleteObject(one, unit.policy, context)))
  signal.throwIfAborted()
  const keysOf = (outcome: DeletionOutcome) =>
    new Set(living.filter((_, at) => hasOutcome(results[at], outcome)).map(({ key }) => key))
  // Another resource or task has it from now on: it is not waited for. ADAPTER-86, ADAPTER-88.
  const left = keysOf('left')
  inventory.drop(left)
  const refused = results.find((result) => result.status === 'rejected')
  try {
    // The server has said of all of them that they are there no more: it need not be asked again. ADAPTER-107.
    const isGone = keysOf('gone').size === unit.found.length
    unit.found = isGone ? [] : (await locate(unit, discovers, state, context)).filter(({ key }) => !left.has(key))
    if (refused !== undefined) unit.failure = requireTaskError(refused.reason)
  } catch (error) {
    unit.failure = requireTaskError(error)
  }
  if (unit.failure !== undefined) unit.requested = false
}

/** Records the outcome of each. @returns names of the resources that are still waited for */
const recordSteps = (
  units: readonly DeletionUnit[],
  { waitsFor, isGated }: DeletionRun,
  state: RunState,
): readonly string[] => {
  const ordered = units.map((unit) => toOrderedUnit(unit, isGated))
  const presence = presences(units)
  const steps = decideDeletions(ordered, waitsFor, presence)
  const left = new Set(remainingResources(ordered, presence))
  state.left = listLeft(units.filter(({ name }) => left.has(name)))
  for (const unit of units) {
    const { name, lookup, entries, failure } = unit
    if (failure !== undefined) state.fail('resources', name, failure)
    const step = steps.get(name)
    const blockers = step?.action === 'wait' ? step.for : []
    const message = failure === undefined ? waitReason(unit, blockers) : messageOf(failure)
    recordStep(
      state,
      name,
      toAction(unit),
      lookup ?? unit.found[0]?.lookup,
      message ?? (lookup ? undefined : listEntries(entries)),
    )
  }
  return [...left]
}

/** For people, of what is gone and has no discovery. */
const listEntries = (entries: DeletionUnit['entries']): string =>
  entries
    .map(({ url, kind = '', namespace, name = '' }) => url ?? `${kind} ${namespace ? `${namespace}/` : ''}${name}`)
    .join(', ')

const toAction = ({ found, failure, requested }: DeletionUnit): ResourceAction => {
  if (failure !== undefined) return 'failed'
  if (found.length === 0) return requested ? 'deleted' : 'gone'
  return requested || found.every(({ object }) => isTerminating(object)) ? 'leaving' : 'waiting'
}

/** What a resource waits for, as people read it. */
const waitReason = ({ found, resource }: DeletionUnit, blockers: readonly string[]): string | undefined => {
  if (blockers.length > 0) return `waits for ${blockers.join(', ')}`
  const held = found.find(({ object }) => (metadataOf(object).finalizers ?? []).length > 0)?.object
  if (held !== undefined) return `${describeObject(held)} is held by ${(metadataOf(held).finalizers ?? []).join(', ')}`
  if (found.some(({ object }) => !isTerminating(object)) && resource?.deleteWhen !== undefined)
    return `${resource.deleteWhen.text} is false`
  return undefined
}
