/** Phase 3 while the resource lives: makes every resource of the task as its manifest says, in the order of the list. ADAPTER-24. */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import { messageOf } from '#operator/client/errors.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import type { Lookup, ResourceTransport, Target } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { decideApply } from './decide-apply.ts'
import { describeObject, isTerminating } from './object.ts'
import { recordFound, recordStep } from './record.ts'
import { renderLookup, renderTarget } from './render-resource.ts'

/** Applies until one fails. @throws the signal's reason */
export const applyResources = async (state: RunState, context: RunContext): Promise<void> => {
  const { resources } = state.task
  const observesFirst = resources.some(
    ({ createWhen, deleteWhen }) => createWhen !== undefined || deleteWhen !== undefined,
  )
  try {
    if (observesFirst) await observeAll(state, context)
  } catch (error) {
    return state.fail('resources', '', error)
  }
  for (const resource of resources) {
    context.signal.throwIfAborted()
    let lookup: Lookup | undefined
    try {
      lookup = renderLookup(resource, state.scope)
      const { action, objects, message } = await applyOne(resource, lookup, state, context)
      recordFound(state, resource, objects)
      recordStep(state, resource.name, action, lookup, message)
    } catch (error) {
      state.fail('resources', resource.name, error)
      recordStep(state, resource.name, 'failed', lookup, messageOf(error))
      return
    }
  }
}

/** Conditions of a resource may read all the others. */
const observeAll = async (state: RunState, { transports, signal }: RunContext): Promise<void> => {
  const { resources } = state.task
  const { scope } = state
  const all = resources.map((resource) => renderLookup(resource, scope))
  const found = await Promise.all(all.map((lookup) => transports[lookup.transport.kind].find(lookup, signal)))
  for (const [at, resource] of resources.entries()) recordFound(state, resource, found[at] ?? [])
}

interface ApplyOutcome {
  readonly action: ResourceAction
  readonly objects: readonly JsonObject[]
  readonly message?: string
}

const applyOne = async (
  resource: TaskResource,
  lookup: Lookup,
  state: RunState,
  { transports, signal }: RunContext,
): Promise<ApplyOutcome> => {
  const transport = transports[lookup.transport.kind]
  const { createWhen, deleteWhen, recreateOnChange } = resource
  const isConditional = createWhen !== undefined || deleteWhen !== undefined || recreateOnChange
  const found = isConditional ? await transport.find(lookup, signal) : []
  const plan = decideApply({
    found,
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
      return deleteFound(resource, lookup, found, transport, signal)
    case 'recreate': {
      // Rendered first: an object that can't be created again must not be deleted.
      const target = renderOwnedTarget(lookup, resource, state)
      const { objects } = await deleteFound(resource, lookup, found, transport, signal)
      const kept = objects.find((object) => !isTerminating(object))
      if (kept !== undefined)
        throw new TaskError(
          'DeleteFailed',
          `${resource.name} can't be created again: ${describeObject(kept)} is still there although it was deleted`,
        )
      if (objects.length > 0) return { action: 'recreating', objects, message: RECREATE_MESSAGE }
      return { action: 'recreated', objects: await applyAndFind(target, transport, signal) }
    }
    case 'apply':
      return {
        action: 'applied',
        objects: await applyAndFind(renderOwnedTarget(lookup, resource, state), transport, signal),
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

const deleteFound = async (
  { policy }: TaskResource,
  lookup: Lookup,
  found: readonly JsonObject[],
  transport: ResourceTransport,
  signal: AbortSignal,
): Promise<ApplyOutcome> => {
  if (found.length === 0) return { action: 'gone', objects: [] }
  for (const object of found) if (!isTerminating(object)) await transport.delete(lookup, object, policy, signal)
  const left = await transport.find(lookup, signal)
  return { action: left.length === 0 ? 'deleted' : 'leaving', objects: left }
}

/** Applies, and finds the object by the task's discovery: one that is not found would never be deleted. */
const applyAndFind = async (
  target: Target,
  transport: ResourceTransport,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> => {
  const object = await transport.apply(target, signal)
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
