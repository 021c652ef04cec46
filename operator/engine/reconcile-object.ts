import { ApiError, isConflict } from '../client/errors.ts'
import { type Cause, detectCause, hasFinalizer } from '../model/cause.ts'
import { monotonic } from '../model/clock.ts'
import { declaredStateOf } from '../model/declared-state.ts'
import { matches } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
import { call, report } from './call-handler.ts'
import { isChangeTracked, runChanges } from './change-handlers.ts'
import type { EventContext } from './context.ts'
import { type DaemonEnvironment, startDaemons } from './daemons.ts'
import { type ObjectState, recordChange } from './object-state.ts'
import { createPatch, type PatchRecord } from './patch.ts'
import { runReconcile, runTimer } from './recurring-handlers.ts'
import { needsFinalizer } from './select-handlers.ts'

/**
 * Reconciles one object once: event → cause → handlers → outcomes → patch. RUNTIME-17.
 * @returns milliseconds after which to reconcile again by itself; undefined: when something happens
 * @throws what the API server answers to our own writes; the queue backs off and tries again
 */
export const reconcileObject = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
): Promise<number | undefined> => {
  const patch = createPatch<O>()
  await callEventHandlers(env, state, patch)

  const delay = consistencyDelay(env, state)
  if (delay > 0) {
    await env.write(state, state.object, patch)
    return delay
  }
  state.awaitedWrite = undefined
  const { pendingChanges, ownWriteSeen } = state
  state.pendingChanges = undefined
  state.ownWriteSeen = false
  state.handlerFailed = false
  const timers = state.timers && new Map(state.timers.entries().map(([id, schedule]) => [id, { ...schedule }]))
  try {
    return await handle(env, state, patch, { pendingChanges, ownWriteSeen })
  } catch (error) {
    // The changes were not handled: they stay pending.
    for (const [changeId, specChanged] of pendingChanges ?? []) recordChange(state, changeId, specChanged)
    recordChange(state, 'unwritten', false)
    state.timers = timers
    throw error
  }
}

const handle = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  patch: PatchRecord<O>,
  { pendingChanges, ownWriteSeen }: Pick<ObjectState, 'pendingChanges' | 'ownWriteSeen'>,
): Promise<number | undefined> => {
  const object = await ensureFinalizer(env, state, state.object, patch)
  if (object === undefined) return undefined
  const { definition } = env
  const deleting = object.metadata.deletionTimestamp !== undefined
  const externalChange = pendingChanges !== undefined
  const delays: (number | undefined)[] = []

  const cause = causeOf(env, state, object)
  const trigger = { externalChange, specChanged: pendingChanges?.values().some(Boolean) === true }
  delays.push(await runChanges(env, state, { cause, object, trigger, patch }))
  if (deleting) await callOptionalDeleteHandlers(env, state, object, patch)
  // RUNTIME-27
  const isLeftToDeleteHandlers =
    deleting && definition.changes.some(({ on, filters }) => on === 'delete' && matches(filters, object))
  if (definition.reconcile !== undefined && !isLeftToDeleteHandlers) {
    const trigger = { externalChange, ownWriteSeen }
    delays.push(await runReconcile(env, state, definition.reconcile, { object, trigger, patch }))
  }
  if (!deleting) {
    for (const timer of definition.timers) delays.push(await runTimer(env, state, timer, { object, patch }))
    startDaemons(env, state)
  }
  state.initial = false

  await env.write(state, object, patch)
  return earliest(delays)
}

/** The object is gone: its last events, and the optional delete handlers that have not been called. */
export const finalizeDeleted = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
): Promise<void> => {
  const patch = createPatch<O>()
  await callEventHandlers(env, state, patch)
  await callOptionalDeleteHandlers(env, state, state.object, patch)
  env.progress.forget(state.object.metadata.uid)
  env.handled.forget(state.object.metadata.uid)
}

/** Milliseconds until handlers may run, 0 for now: our last write must have come back, or its time must be over. RUNTIME-22. */
const consistencyDelay = <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  { awaitedWrite, object }: ObjectState<O>,
): number => {
  if (awaitedWrite === undefined || isAtLeastAsNew(object.metadata.resourceVersion, awaitedWrite.revision)) return 0
  return Math.max(0, awaitedWrite.until - monotonic(env.clock))
}

/**
 * Adds our finalizer before any handler runs, so that nothing a handler makes is ever left behind; takes it away, with
 * the other changes, when no delete handler is for the object any more. RUNTIME-24.
 */
const ensureFinalizer = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  object: O,
  patch: PatchRecord<O>,
): Promise<O | undefined> => {
  const { finalizer, changes } = env.definition
  if (object.metadata.deletionTimestamp !== undefined) return object
  const needed = needsFinalizer(changes, object)
  const there = hasFinalizer(object, finalizer)
  if (needed && !there) {
    const first = createPatch<O>()
    // The object may be deleted just now: then no finalizer can be added any more, and none is needed.
    first.finalizers((list, { metadata }) =>
      list.includes(finalizer) || metadata.deletionTimestamp !== undefined ? list : [...list, finalizer],
    )
    try {
      return await env.write(state, object, first)
    } catch (error) {
      if (error instanceof ApiError && !isConflict(error)) tellRefusedFinalizer(env, object, error)
      throw error
    }
  }
  if (!needed && there) patch.finalizers((list) => list.filter((other) => other !== finalizer))
  return object
}

/** Where a person looks: without it no handler would say anything of the object. RUNTIME-76. */
const tellRefusedFinalizer = <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  object: O,
  { message }: ApiError,
): void =>
  env
    .events(object)
    .warning(
      'FinalizerNotAdded',
      `nothing is done for it, because the finalizer ${env.definition.finalizer} can’t be added: ${message}; it is tried again`,
    )

const causeOf = <O extends KubeObject>(env: DaemonEnvironment<O>, state: ObjectState<O>, object: O): Cause<O> => {
  const { changes, finalizer } = env.definition
  const { initial } = state
  if (!isChangeTracked(env.definition, object)) {
    return detectCause({ object, handled: declaredStateOf(object), initial: false, finalizer })
  }
  const handled = env.handled.fetch(object) as Cause<O>['old']
  // Without update and field handlers only whether it was handled matters: a change need not be stored.
  const known = handled !== undefined && !changes.some(({ on }) => on === 'update' || on === 'field')
  return detectCause({ object, handled: known ? declaredStateOf(object) : handled, initial, finalizer })
}

const callEventHandlers = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  patch: PatchRecord<O>,
): Promise<void> => {
  const events = state.pendingEvents ?? []
  state.pendingEvents = undefined
  for (const { type, object } of events) {
    for (const handler of env.definition.events) {
      if (!matches(handler.filters, object)) continue
      await callOnce(env, state, handler.id, () =>
        call(env, state, {
          ...handler,
          object,
          patch,
          failures: 0,
          startedAt: env.clock.now().getTime(),
          run: (context) => handler.run(Object.assign(context, { type }) as EventContext<O>),
        }),
      )
    }
  }
}

/** Calls the optional delete handlers, once. RUNTIME-26. */
const callOptionalDeleteHandlers = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  object: O,
  patch: PatchRecord<O>,
): Promise<void> => {
  if (state.deletionHandled) return
  state.deletionHandled = true
  const declared = declaredStateOf(object)
  for (const handler of env.definition.changes) {
    if (handler.on !== 'delete' || !handler.optional || !matches(handler.filters, object)) continue
    const change = { old: declared, new: declared, diff: [] }
    await callOnce(env, state, handler.id, () =>
      call(env, state, {
        id: handler.id,
        filters: handler.filters,
        object,
        patch,
        failures: 0,
        startedAt: env.clock.now().getTime(),
        run: (context) => handler.run(Object.assign(context, change)),
      }),
    )
  }
}

/** Calls a handler that is not retried: its error is only logged. */
const callOnce = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  state: ObjectState<O>,
  id: string,
  callHandler: () => ReturnType<typeof call>,
): Promise<void> => {
  const result = await callHandler()
  if (result === 'interrupted' || !('error' in result)) return
  const error = result.error instanceof Error ? result.error : new Error(String(result.error))
  report(env, state, id, { kind: 'ignored', error })
}

const earliest = (delays: readonly (number | undefined)[]): number | undefined => {
  const known = delays.filter((delay) => delay !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
