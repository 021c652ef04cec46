import { equal } from '#lib/json/diff.ts'
import type { Cause } from '../model/cause.ts'
import { type DeclaredState, declaredStateOf } from '../model/declared-state.ts'
import { matches } from '../model/filters.ts'
import { decideOutcome, type Outcome } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { call, report } from './call-handler.ts'
import type { ChangeContext } from './context.ts'
import type { ChangeHandler, Definition } from './definition.ts'
import type { Environment } from './environment.ts'
import type { ObjectState } from './object-state.ts'
import type { PatchRecord } from './patch.ts'
import { type HandlerProgress, isChangeProgress } from './progress.ts'
import { diffFor, selectHandlers } from './select-handlers.ts'

/** Why the handlers of a change run now, beyond the time: what ends a delay early. */
export interface Trigger {
  /** Something happened that we did not do: ends waiting. */
  readonly externalChange: boolean
  /** And it changed the declared state: ends the backoff of an error, because the mistake may be corrected. */
  readonly specChanged: boolean
}

/** Long enough for a stack's first line, short enough for an annotation. */
const MAX_MESSAGE_CHARS = 300

/**
 * Runs the handlers of a change, each until it has succeeded or given up, and remembers how far they got. RUNTIME-12, RUNTIME-25.
 * @returns milliseconds after which to come back; undefined: when something happens
 */
export const runChanges = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  { cause, object, trigger, patch }: { cause: Cause<O>; object: O; trigger: Trigger; patch: PatchRecord<O> },
): Promise<number | undefined> => {
  const declared = declaredStateOf(object)
  const stored = env.progress.fetch(object)
  const known = isChangeProgress(stored) ? stored : undefined
  const continued = known !== undefined && (known.type === 'delete') === (cause.type === 'delete') ? known : undefined
  const type = continued?.type ?? cause.type
  if (type === 'noop' || type === 'gone' || type === 'free') return undefined

  const selected =
    continued === undefined
      ? selectHandlers(env.definition.changes, cause, object, state.initial)
      : env.definition.changes.filter(({ id, filters }) => id in continued.handlers && matches(filters, object))
  const unstarted = { startedAt: env.clock.now().toISOString(), failures: 0 }
  const records: Record<string, HandlerProgress> = Object.fromEntries(
    selected.map(({ id }) => [id, continued?.handlers[id] ?? unstarted]),
  )

  for (const handler of selected) {
    const before = records[handler.id] ?? unstarted
    if (remainingDelay(before, trigger, env.clock.now().getTime()) > 0) continue
    const record = await attempt(env, state, handler, { cause, object, declared, patch, before })
    // Interrupted: what result the scope reconciles the object again where that is needed.
    if (record === undefined) break
    records[handler.id] = record
  }

  const unfinished = Object.values(records).filter((record) => record.finished === undefined)
  if (unfinished.length > 0) {
    const now = env.clock.now().getTime()
    const delays = unfinished
      .filter((record) => record !== unstarted)
      .map((record) => remainingDelay(record, NO_TRIGGER, now))
    const anyStarted = continued !== undefined || Object.values(records).some((record) => record !== unstarted)
    if (anyStarted)
      env.progress.store({ type, essence: continued?.essence ?? declared, handlers: records }, object, patch)
    return delays.length === 0 ? undefined : Math.min(...delays)
  }
  if (stored !== undefined) env.progress.store(undefined, object, patch)
  if (type === 'delete') {
    patch.finalizers((list) => list.filter((finalizer) => finalizer !== env.definition.finalizer))
    return undefined
  }
  const handled = continued?.essence ?? declared
  if (!equal(cause.old, handled)) env.handled.store(handled, object, patch)
  state.initial = false
  return equal(handled, declared) ? undefined : 0
}

const NO_TRIGGER: Trigger = { externalChange: false, specChanged: false }

/** Milliseconds until a handler is to be called; 0: now. RUNTIME-14. */
const remainingDelay = (record: HandlerProgress, trigger: Trigger, now: number): number => {
  if (record.finished !== undefined) return Number.POSITIVE_INFINITY
  if (record.delayedUntil === undefined) return 0
  if (record.waiting ? trigger.externalChange : trigger.specChanged) return 0
  return Math.max(0, Date.parse(record.delayedUntil) - now)
}

interface ChangeCall<O extends KubeObject> {
  readonly cause: Cause<O>
  readonly object: O
  readonly declared: DeclaredState<O>
  readonly patch: PatchRecord<O>
  readonly before: HandlerProgress
}

/** One call of a handler, as a record; undefined when it was interrupted. */
const attempt = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  handler: ChangeHandler<O>,
  { cause, object, declared, patch, before }: ChangeCall<O>,
): Promise<HandlerProgress | undefined> => {
  const startedAt = Date.parse(before.startedAt)
  const { failures } = before
  const change = { old: cause.old, new: declared, diff: diffFor(handler, cause.diff) }
  const result = await call(env, state, {
    id: handler.id,
    filters: handler.filters,
    object,
    patch,
    failures,
    startedAt,
    run: (context) => handler.run(Object.assign(context, change) as ChangeContext<O>),
  })
  if (result === 'interrupted') return undefined
  const now = env.clock.now().getTime()
  const outcome = decideOutcome(result, { failures, startedAt }, env.limits(handler.policy), {
    now,
    random: env.random(),
  })
  report(env, state, handler.id, outcome)
  return recordOf(outcome, { startedAt, failures, now })
}

const recordOf = (
  outcome: Outcome,
  { startedAt, failures, now }: { startedAt: number; failures: number; now: number },
): HandlerProgress => {
  const record = { startedAt: new Date(startedAt).toISOString(), failures }
  const until = (delay: number) => new Date(now + delay).toISOString()
  switch (outcome.kind) {
    case 'success':
    case 'ignored':
      return { ...record, finished: 'success' }
    case 'requeue':
      return { ...record, delayedUntil: until(outcome.delay), waiting: true }
    case 'temporary':
      return {
        ...record,
        failures: failures + 1,
        delayedUntil: until(outcome.delay),
        message: messageOf(outcome.error),
      }
    case 'permanent':
      return { ...record, failures: failures + 1, finished: 'failure', message: messageOf(outcome.error) }
  }
}

const messageOf = (error: Error): string => error.message.slice(0, MAX_MESSAGE_CHARS)

/** What of an object's declared is remembered: nothing when no handler asks what changed. */
export const isChangeTracked = <O extends KubeObject>({ changes }: Definition<O>, object: O): boolean =>
  changes.some(({ on, filters }) => on !== 'delete' && matches(filters, object))
