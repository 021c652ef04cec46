/** Phase 3 while the resource lives: makes every resource of the task as its manifest says, in the order of the list. ADAPTER-24. */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { entryOfTarget, keyOfEntry } from '../../inventory/entry.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import { type Lookup, ObjectReplacedError, type Target } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { decideApply } from './decide-apply.ts'
import { toOrderedResource } from './delete.ts'
import { deleteObject } from './delete-object.ts'
import { type DeletionOrder, decideDeletionOrder } from './deletion-order.ts'
import { type LocatedObject, locate, preferOwn } from './deletion-unit.ts'
import { describeObject, INVENTORY_ANNOTATION, isTerminating, resumedAnnotation } from './object.ts'
import { recordFound, recordStep } from './record.ts'
import { renderLookup, renderTarget, withAnnotations } from './render-resource.ts'
import { hearOthers, pruneSuperseded } from './sweep.ts'
import { tellPodProblems } from './tell-pod-problems.ts'

/** Applies until one fails, and then takes away what is superseded: ADAPTER-67. @throws the signal's reason */
export const applyResources = async (state: RunState, context: RunContext): Promise<void> => {
  const { resources } = state.task
  const observesFirst = resources.some(
    ({ createWhen, deleteWhen }) => createWhen !== undefined || deleteWhen !== undefined,
  )
  const work: ApplyWork = { state, context, order: deletionOrderOf(resources), applied: new Map() }
  try {
    if (observesFirst) await observeAll(state, context)
    if (context.inventory.mark === undefined) await intendAll(work)
  } catch (error) {
    return state.fail('resources', '', error)
  }
  for (const resource of resources) {
    // What another task may wait for, or two would wait for each other: ADAPTER-125.
    if (state.failed && !isShared(resource, context)) continue
    await state.budget.giveTurn()
    context.signal.throwIfAborted()
    let lookup: Lookup | undefined
    try {
      lookup = renderLookup(resource, state.scope)
      const { action, objects, message } = await applyOne(resource, lookup, work)
      recordFound(state, resource, preferOwn(objects, state, context))
      recordStep(state, resource.name, action, lookup, message)
    } catch (error) {
      state.fail('resources', resource.name, error)
      recordStep(state, resource.name, 'failed', lookup, messageOf(error))
      const isWaiting = error instanceof TaskError && error.isWaiting
      if (!isWaiting || !(await hearOthers(state, context))) return
    }
  }
  if (!state.failed) await pruneSuperseded(work.applied, state, context)
  if (!state.failed) await tellPodProblems(state, context)
}

/** Another task has an object of it too. */
const isShared = ({ name }: TaskResource, { inventory }: RunContext): boolean =>
  [...inventory.entries.values()].some(({ resource, share }) => resource === name && share !== undefined)

interface ApplyWork {
  readonly state: RunState
  readonly context: RunContext
  readonly order: DeletionOrder
  /** Names of resources by the keys of the objects that this run has applied. */
  readonly applied: Map<string, string>
}

/** In which order they will be deleted. Without one, what the task does not name any more has none. */
const deletionOrderOf = (resources: readonly TaskResource[]): DeletionOrder => {
  const verdict = decideDeletionOrder(resources.map(toOrderedResource))
  return verdict.kind === 'order' ? verdict.waitsFor : new Map()
}

/** Writes down at once what can be rendered before anything is applied; the rest is written down one by one. */
const intendAll = async ({ state, context, order }: ApplyWork): Promise<void> => {
  const entries = state.task.resources.flatMap((resource) => {
    if (resource.createWhen !== undefined) return []
    try {
      const target = renderOwnedTarget(renderLookup(resource, state.scope), resource, state)
      return [entryOfTarget(target, resource, state.generation, order.get(resource.name) ?? [])]
    } catch (error) {
      if (error instanceof TaskError) return []
      throw error
    }
  })
  if (entries.length > 0) await context.inventory.intend(entries, context.signal)
}

/** Conditions of a resource may read all the others. */
const observeAll = async (state: RunState, context: RunContext): Promise<void> => {
  const { transports, signal } = context
  const { resources } = state.task
  const { scope } = state
  const all = resources.map((resource) => renderLookup(resource, scope))
  const found = await Promise.all(all.map((lookup) => transports[lookup.transport.kind].find(lookup, signal)))
  for (const [at, resource] of resources.entries())
    recordFound(state, resource, preferOwn(found[at] ?? [], state, context))
}

interface ApplyOutcome {
  readonly action: ResourceAction
  readonly objects: readonly JsonObject[]
  readonly message?: string
}

const applyOne = async (resource: TaskResource, lookup: Lookup, work: ApplyWork): Promise<ApplyOutcome> => {
  const { state, context } = work
  const { transports, signal } = context
  const transport = transports[lookup.transport.kind]
  const { createWhen, deleteWhen, recreateOnChange } = resource
  const isConditional = createWhen !== undefined || deleteWhen !== undefined || recreateOnChange
  const found = isConditional ? await transport.find(lookup, signal) : []
  // Only what the task has applied itself is deleted, and so created again: ADAPTER-63.
  const own = isConditional ? await locateOwn(resource, lookup, found, work) : []
  const plan = decideApply({
    found,
    own: own.map(({ key, object }) => ({ object, entry: context.inventory.entries.get(key) })),
    generation: state.generation,
    recreateOnChange,
    deleteWhen: deleteWhen !== undefined && isTrue(deleteWhen.text, deleteWhen.evaluate(state.scope)),
    // Evaluated only while it is absent, so that it can't fail a run that does not need it.
    createWhen:
      createWhen === undefined || found.length > 0 || isTrue(createWhen.text, createWhen.evaluate(state.scope)),
  })
  switch (plan.action) {
    case 'skip':
      return { action: 'skipped', objects: [], message: `${createWhen?.text} is false` }
    case 'await':
      return { action: 'recreating', objects: found, message: RECREATE_MESSAGE }
    case 'delete':
      return deleteOwn(resource, own, lookup, work)
    case 'recreate': {
      // Rendered first: an object that can't be created again must not be deleted.
      const target = renderOwnedTarget(lookup, resource, state)
      const { objects } = await deleteOwn(resource, own, lookup, work)
      const kept = objects.find((object) => !isTerminating(object))
      if (kept !== undefined)
        throw new TaskError(
          'DeleteFailed',
          `${resource.name} can't be created again: ${describeObject(kept)} is still there although it was deleted`,
        )
      if (objects.length > 0) return { action: 'recreating', objects, message: RECREATE_MESSAGE }
      return { action: 'recreated', objects: await applyAndFind(target, resource, work) }
    }
    case 'apply':
      return {
        action: 'applied',
        objects: await applyAndFind(renderOwnedTarget(lookup, resource, state), resource, work),
      }
  }
}

const RECREATE_MESSAGE = 'it is created again once it is gone'

const renderOwnedTarget = (lookup: Lookup, resource: TaskResource, state: RunState): Target => {
  const target = renderTarget(lookup, resource, state.scope, {
    adapter: state.task.adapter.name,
    event: state.event.data,
    generation: state.generation,
  })
  state.redactor.addSecretsIn(target.manifest)
  return target
}

/** What the task has applied as this resource and is there. Labels count as long as nothing of it is recorded with its uid. */
const locateOwn = (
  resource: TaskResource,
  lookup: Lookup,
  found: readonly JsonObject[],
  { state, context }: ApplyWork,
): Promise<readonly LocatedObject[]> => {
  const entries = [...context.inventory.entries.values()].filter((entry) => entry.resource === resource.name)
  const believesLabels = entries.every(({ uid }) => uid === undefined)
  return locate({ resource, lookup, entries }, found, state, context, believesLabels)
}

const deleteOwn = async (
  resource: TaskResource,
  own: readonly LocatedObject[],
  lookup: Lookup,
  work: ApplyWork,
): Promise<ApplyOutcome> => {
  const { transports, inventory, signal } = work.context
  if (own.length === 0) return { action: 'gone', objects: [] }
  await inventory.hear(signal)
  for (const one of own) {
    if (isTerminating(one.object)) continue
    const outcome = await deleteObject(one, resource.policy, work.context)
    if (outcome === 'left') inventory.drop([one.key])
  }
  const left = await locateOwn(resource, lookup, await transports[lookup.transport.kind].find(lookup, signal), work)
  const there = new Set(left.map(({ key }) => key))
  inventory.drop(own.map(({ key }) => key).filter((key) => !there.has(key)))
  return { action: left.length === 0 ? 'deleted' : 'leaving', objects: left.map(({ object }) => object) }
}

/** Writes it down, applies it, and finds it by the task's discovery: what expressions read of the resource. */
const applyAndFind = async (
  target: Target,
  resource: TaskResource,
  { state, context, order, applied }: ApplyWork,
): Promise<readonly JsonObject[]> => {
  const { transports, inventory, signal } = context
  const transport = transports[target.transport.kind]
  const entry = entryOfTarget(target, resource, state.generation, order.get(resource.name) ?? [])
  const mark = await inventory.intend([entry], signal)
  inventory.markSent(entry)
  const { uid: recordedUid, share } = inventory.entries.get(keyOfEntry(entry)) ?? {}
  let seenShare: typeof share
  const onShared = (seen: NonNullable<typeof share>) => {
    seenShare = seen
  }
  // A task that deletes the object in the state in which this one was about to leave it meets a conflict.
  const resumed = inventory.isResumed(keyOfEntry(entry)) && {
    [resumedAnnotation(state.task.adapter.name)]: inventory.version,
  }
  const marked = { ...withAnnotations(target, { [INVENTORY_ANNOTATION]: mark, ...resumed }), onShared }
  const object = await transport.apply({ ...marked, recordedUid, share }, signal).catch(async (error) => {
    const isBeside = error instanceof TaskError && error.isWaiting && recordedUid !== undefined
    if (isBeside) inventory.noteShared(keyOfEntry(entry), 'Beside')
    if (!(error instanceof ObjectReplacedError)) throw error
    await inventory.renew(entry, signal)
    return transport.apply(marked, signal)
  })
  applied.set(inventory.recordApplied(entry, object, seenShare), resource.name)
  if (matchesLookup(target, object)) return [object]
  const found = await transport.find(target, signal)
  if (found.length > 0) return found
  throw new TaskError(
    'DiscoveryFailed',
    `${target.name} was applied as ${describeObject(object)}, but its discovery finds nothing: make discovery match the manifest`,
  )
}

const matchesLookup = ({ match: find }: Target, object: JsonObject): boolean => {
  if (find.kind === 'self') return true
  const { name, namespace } = (object.metadata ?? {}) as { name?: string; namespace?: string }
  return find.kind === 'name' && find.name === name && (namespace === undefined || find.namespace === namespace)
}
