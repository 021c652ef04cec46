import { type Cause, detectCause, hasFinalizer } from '../model/cause.ts'
import { monotonic } from '../model/clock.ts'
import { essenceOf } from '../model/essence.ts'
import { matches } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'
import { call, report } from './call.ts'
import { runChanges, tracks } from './changes.ts'
import type { EventContext } from './context.ts'
import { type DaemonEnvironment, startDaemons } from './daemons.ts'
import { createPatch, type PatchRecord } from './patch.ts'
import { runReconcile, runTimer } from './recurring.ts'
import { isAtLeast } from './revision.ts'
import { needsFinalizer } from './select.ts'
import { noteNews, type Tended } from './tended.ts'

/**
 * Looks at one object once: event → cause → handlers → outcomes → patch.
 * @returns milliseconds after which to look again by itself; undefined: when something happens
 * @throws what the API server answers to our own writes; the queue backs off and tries again
 */
export const pass = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
): Promise<number | undefined> => {
  const patch = createPatch<O>()
  await showEvents(env, tended, patch)

  const wait = untilConsistent(env, tended)
  if (wait > 0) {
    await env.write(tended, tended.object, patch)
    return wait
  }
  tended.awaiting = undefined
  const { news, echoed } = tended
  tended.news = undefined
  tended.echoed = false
  tended.failed = false
  const timers = tended.timers && new Map(tended.timers.entries().map(([id, state]) => [id, { ...state }]))
  try {
    return await handle(env, tended, patch, { news, echoed })
  } catch (error) {
    // What was not answered for is still to be answered for.
    for (const [mark, redeclared] of news ?? []) noteNews(tended, mark, redeclared)
    noteNews(tended, 'unanswered', false)
    tended.timers = timers
    throw error
  }
}

const handle = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  patch: PatchRecord<O>,
  { news, echoed }: Pick<Tended, 'news' | 'echoed'>,
): Promise<number | undefined> => {
  const object = await withFinalizer(env, tended, tended.object, patch)
  if (object === undefined) return undefined
  const { definition } = env
  const deleting = object.metadata.deletionTimestamp !== undefined
  const stirred = news !== undefined
  const delays: (number | undefined)[] = []

  const cause = causeOf(env, tended, object)
  const occasion = { stirred, redeclared: news?.values().some(Boolean) === true }
  delays.push(await runChanges(env, tended, { cause, object, occasion, patch }))
  if (deleting) await showDeletion(env, tended, object, patch)
  const yielded = deleting && definition.changes.some(({ on, filters }) => on === 'delete' && matches(filters, object))
  if (definition.reconcile !== undefined && !yielded) {
    const trigger = { stirred, echoed }
    delays.push(await runReconcile(env, tended, definition.reconcile, { object, trigger, patch }))
  }
  if (!deleting) {
    for (const timer of definition.timers) delays.push(await runTimer(env, tended, timer, { object, patch }))
    startDaemons(env, tended)
  }
  tended.initial = false

  await env.write(tended, object, patch)
  return earliest(delays)
}

/** The object is gone: the last events, and the deletion for those who did not ask to see it before. */
export const farewell = async <O extends KubeObject>(env: DaemonEnvironment<O>, tended: Tended<O>): Promise<void> => {
  const patch = createPatch<O>()
  await showEvents(env, tended, patch)
  await showDeletion(env, tended, tended.object, patch)
  env.progress.forget(tended.object.metadata.uid)
  env.handled.forget(tended.object.metadata.uid)
}

/** Milliseconds until handlers may run, 0 for now: our last write must have come back, or its time must be over. */
const untilConsistent = <O extends KubeObject>(env: DaemonEnvironment<O>, { awaiting, object }: Tended<O>): number => {
  if (awaiting === undefined || isAtLeast(object.metadata.resourceVersion, awaiting.revision)) return 0
  return Math.max(0, awaiting.until - monotonic(env.clock))
}

/**
 * Adds our finalizer before any handler runs, so that nothing a handler makes is ever left behind; takes it away, with
 * the other changes, when no delete handler is for the object any more.
 */
const withFinalizer = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  object: O,
  patch: PatchRecord<O>,
): Promise<O | undefined> => {
  const { finalizer, changes } = env.definition
  if (object.metadata.deletionTimestamp !== undefined) return object
  const needed = needsFinalizer(changes, object)
  const there = hasFinalizer(object, finalizer)
  if (needed && !there) {
    const first = createPatch<O>()
    // Somebody may delete the object just now: then no finalizer can be added any more, and none is needed.
    first.finalizers((list, { metadata }) =>
      list.includes(finalizer) || metadata.deletionTimestamp !== undefined ? list : [...list, finalizer],
    )
    return env.write(tended, object, first)
  }
  if (!needed && there) patch.finalizers((list) => list.filter((other) => other !== finalizer))
  return object
}

const causeOf = <O extends KubeObject>(env: DaemonEnvironment<O>, tended: Tended<O>, object: O): Cause<O> => {
  const { changes, finalizer } = env.definition
  const { initial } = tended
  if (!tracks(env.definition, object)) {
    return detectCause({ object, handled: essenceOf(object), initial: false, finalizer })
  }
  const handled = env.handled.fetch(object) as Cause<O>['old']
  // Nobody asks what changed, only whether it was handled at all: a change needs no new note on the object.
  const known = handled !== undefined && !changes.some(({ on }) => on === 'update' || on === 'field')
  return detectCause({ object, handled: known ? essenceOf(object) : handled, initial, finalizer })
}

const showEvents = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  patch: PatchRecord<O>,
): Promise<void> => {
  const events = tended.unseen ?? []
  tended.unseen = undefined
  for (const { type, object } of events) {
    for (const handler of env.definition.events) {
      if (!matches(handler.filters, object)) continue
      await once(env, tended, handler.id, () =>
        call(env, tended, {
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

/** Calls the optional delete handlers, once. */
const showDeletion = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  object: O,
  patch: PatchRecord<O>,
): Promise<void> => {
  if (tended.deletionSeen) return
  tended.deletionSeen = true
  const essence = essenceOf(object)
  for (const handler of env.definition.changes) {
    if (handler.on !== 'delete' || !handler.optional || !matches(handler.filters, object)) continue
    const change = { old: essence, new: essence, diff: [] }
    await once(env, tended, handler.id, () =>
      call(env, tended, {
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

/** For handlers that are not tried again: an error is only said. */
const once = async <O extends KubeObject>(
  env: DaemonEnvironment<O>,
  tended: Tended<O>,
  id: string,
  calling: () => ReturnType<typeof call>,
): Promise<void> => {
  const ended = await calling()
  if (ended === 'interrupted' || !('error' in ended)) return
  const error = ended.error instanceof Error ? ended.error : new Error(String(ended.error))
  report(env, tended, id, { kind: 'ignored', error })
}

const earliest = (delays: readonly (number | undefined)[]): number | undefined => {
  const known = delays.filter((delay) => delay !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
