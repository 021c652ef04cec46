/** Phase 3 while the resource lives: makes every resource of the task as its manifest says, in the order of the list. */

import type { ResourceAction } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { JsonObject, TaskResource } from '../../task/task.ts'
import { objectText, type Sought, type Target, type Transport } from '../../transports/transport.ts'
import { isTrue } from '../phases/preconditions.ts'
import type { Surroundings } from '../run-context.ts'
import type { Progress } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { describe, foremost, generationOf, isLeaving } from './object.ts'
import { know } from './record-found.ts'
import { soughtOf, targetOf } from './render-resource.ts'

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

export interface Facts {
  readonly found: readonly JsonObject[]
  readonly generation: number
  readonly recreateOnChange: boolean
  readonly createWhen: boolean
  readonly deleteWhen: boolean
}

/** Pure: what the facts ask for. */
export const planOf = ({ found, generation, recreateOnChange, createWhen, deleteWhen }: Facts): ApplyPlan => {
  if (deleteWhen) return { action: 'delete' }
  const one = foremost(found)
  if (one === undefined) return { action: createWhen ? 'apply' : 'skip' }
  if (!recreateOnChange) return { action: 'apply' }
  if (isLeaving(one)) return { action: 'await' }
  return { action: generationOf(one) === generation ? 'apply' : 'recreate' }
}

/** Applies until one fails. @throws the signal's reason */
export const applyResources = async (progress: Progress, surroundings: Surroundings): Promise<void> => {
  const { resources } = progress.task
  const looksFirst = resources.some(
    ({ createWhen, deleteWhen }) => createWhen !== undefined || deleteWhen !== undefined,
  )
  try {
    if (looksFirst) await lookAtAll(progress, surroundings)
  } catch (error) {
    return progress.fail('resources', '', error)
  }
  for (const resource of resources) {
    surroundings.signal.throwIfAborted()
    let sought: Sought | undefined
    try {
      sought = soughtOf(resource, progress.scope)
      const { action, objects, message } = await reach(resource, sought, progress, surroundings)
      know(progress, resource, objects)
      note(progress, resource.name, action, sought, message)
    } catch (error) {
      progress.fail('resources', resource.name, error)
      note(progress, resource.name, 'failed', sought, messageOf(error))
      return
    }
  }
}

/** Conditions of a resource read what is there of all the others. */
const lookAtAll = async (progress: Progress, { transports, signal }: Surroundings): Promise<void> => {
  const { resources } = progress.task
  const { scope } = progress
  const all = resources.map((resource) => soughtOf(resource, scope))
  const found = await Promise.all(all.map((sought) => transports[sought.reach.kind].find(sought, signal)))
  for (const [at, resource] of resources.entries()) know(progress, resource, found[at] ?? [])
}

interface Reached {
  readonly action: ResourceAction
  readonly objects: readonly JsonObject[]
  readonly message?: string
}

const reach = async (
  resource: TaskResource,
  sought: Sought,
  progress: Progress,
  { transports, signal }: Surroundings,
): Promise<Reached> => {
  const transport = transports[sought.reach.kind]
  const { createWhen, deleteWhen, recreateOnChange } = resource
  const isConditional = createWhen !== undefined || deleteWhen !== undefined || recreateOnChange
  const found = isConditional ? await transport.find(sought, signal) : []
  const plan = planOf({
    found,
    generation: progress.generation,
    recreateOnChange,
    deleteWhen: deleteWhen !== undefined && isTrue(deleteWhen.text, deleteWhen.evaluate(progress.scope)),
    // Asked only while it is absent, so that it can't fail a run that does not need it.
    createWhen:
      createWhen === undefined || found.length > 0 || isTrue(createWhen.text, createWhen.evaluate(progress.scope)),
  })
  switch (plan.action) {
    case 'skip':
      return { action: 'skipped', objects: [], message: `${createWhen?.text} is false` }
    case 'await':
      return { action: 'recreating', objects: found, message: AGAIN }
    case 'delete':
      return removed(resource, sought, found, transport, signal)
    case 'recreate': {
      // Rendered first: what can't be made again must not go.
      const target = targetFor(sought, resource, progress)
      const { objects } = await removed(resource, sought, found, transport, signal)
      const kept = objects.find((object) => !isLeaving(object))
      if (kept !== undefined)
        throw new TaskError(
          'DeleteFailed',
          `${resource.name} can't be created again: ${describe(kept)} was asked to go and is still there`,
        )
      if (objects.length > 0) return { action: 'recreating', objects, message: AGAIN }
      return { action: 'recreated', objects: await applied(target, transport, signal) }
    }
    case 'apply':
      return { action: 'applied', objects: await applied(targetFor(sought, resource, progress), transport, signal) }
  }
}

const AGAIN = 'it is created again once it is gone'

const targetFor = (sought: Sought, resource: TaskResource, progress: Progress): Target => {
  const target = targetOf(sought, resource, progress.scope, {
    adapter: progress.task.adapter.name,
    event: progress.event.data,
    generation: progress.generation,
  })
  progress.veil.hideSecrets(target.manifest)
  return target
}

const removed = async (
  { policy }: TaskResource,
  sought: Sought,
  found: readonly JsonObject[],
  transport: Transport,
  signal: AbortSignal,
): Promise<Reached> => {
  if (found.length === 0) return { action: 'gone', objects: [] }
  for (const object of found) if (!isLeaving(object)) await transport.delete(sought, object, policy, signal)
  const left = await transport.find(sought, signal)
  return { action: left.length === 0 ? 'deleted' : 'leaving', objects: left }
}

/** Applied, and found as the task says: what is not found is not what the task meant. */
const applied = async (target: Target, transport: Transport, signal: AbortSignal): Promise<readonly JsonObject[]> => {
  const object = await transport.apply(target, signal)
  if (isFoundBySelf(target, object)) return [object]
  const found = await transport.find(target, signal)
  if (found.length > 0) return found
  throw new TaskError(
    'DiscoveryFailed',
    `${target.name} was applied as ${describe(object)}, but its discovery finds nothing: make discovery match the manifest`,
  )
}

const isFoundBySelf = ({ find }: Target, object: JsonObject): boolean => {
  if (find.kind === 'self') return true
  const { name, namespace } = (object.metadata ?? {}) as { name?: string; namespace?: string }
  return find.kind === 'name' && find.name === name && (namespace === undefined || find.namespace === namespace)
}

export const note = (
  progress: Progress,
  name: string,
  action: ResourceAction,
  sought: Sought | undefined,
  message: string | undefined,
): void => {
  const object = sought && objectText(sought)
  progress.steps.push({ name, action, ...(object && { object }), ...(message && { message }) })
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
