/** Phase 3 while the resource lives: makes every resource of the task as its manifest says, in the order of the list. */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import { describeLookup, type Lookup, type ResourceTransport, type Target } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { describeObject, generationOf, isTerminating, pickLatest } from './object.ts'
import { recordFound } from './record-found.ts'
import { renderLookup, renderTarget } from './render-resource.ts'

/** What is done with one resource. */
export type ApplyPlan =
  | { readonly action: 'apply' }
  /** Its own condition wants it gone. */
  | { readonly action: 'delete' }
  /** It is absent, and its own condition keeps it so. */
  | { readonly action: 'skip' }
  /** It was applied for another generation, and must not be changed in place. */
  | { readonly action: 'recreate' }
  /** It is on its way out, and comes again when it is gone. */
  | { readonly action: 'await' }

export interface ResourceState {
  readonly found: readonly JsonObject[]
  readonly generation: number
  readonly recreateOnChange: boolean
  readonly createWhen: boolean
  readonly deleteWhen: boolean
}

/** Pure: what the facts ask for. */
export const decideApply = ({
  found,
  generation,
  recreateOnChange,
  createWhen,
  deleteWhen,
}: ResourceState): ApplyPlan => {
  if (deleteWhen) return { action: 'delete' }
  const one = pickLatest(found)
  if (one === undefined) return { action: createWhen ? 'apply' : 'skip' }
  if (!recreateOnChange) return { action: 'apply' }
  if (isTerminating(one)) return { action: 'await' }
  return { action: generationOf(one) === generation ? 'apply' : 'recreate' }
}

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

/** Conditions of a resource read what is there of all the others. */
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
    // Asked only while it is absent, so that it can't fail a run that does not need it.
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
      // Rendered first: what can't be made again must not go.
      const target = renderOwnedTarget(lookup, resource, state)
      const { objects } = await deleteFound(resource, lookup, found, transport, signal)
      const kept = objects.find((object) => !isTerminating(object))
      if (kept !== undefined)
        throw new TaskError(
          'DeleteFailed',
          `${resource.name} can't be created again: ${describeObject(kept)} was asked to go and is still there`,
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

/** Applied, and found as the task says: what is not found is not what the task meant. */
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

export const recordStep = (
  state: RunState,
  name: string,
  action: ResourceAction,
  lookup: Lookup | undefined,
  message: string | undefined,
): void => {
  const object = lookup && describeLookup(lookup)
  state.steps.push({ name, action, ...(object && { object }), ...(message && { message }) })
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
