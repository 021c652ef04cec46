import { monotonic } from '../model/clock.ts'
import { matches } from '../model/filters.ts'
import { decideOutcome, type Outcome } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { call, report } from './call.ts'
import type { ReconcileHandler, TimerHandler } from './definition.ts'
import type { Environment } from './environment.ts'
import type { PatchRecord } from './patch.ts'
import type { Recurring, Tended } from './tended.ts'

/** What happened since the handlers last ran. */
export interface Trigger {
  /** Something that we did not do. */
  readonly stirred: boolean
  /** Our own write came back. */
  readonly echoed: boolean
}

/**
 * Calls `reconcile` when something happened or its time has come. Our own writes count as well, so that a reconcile may
 * go step by step over its status, but not while it fails: a failure that is written to the status would spin.
 * @returns milliseconds after which to come back; undefined: when something happens
 */
export const runReconcile = async <O extends KubeObject>(
  env: Environment<O>,
  tended: Tended<O>,
  handler: ReconcileHandler<O>,
  { object, trigger, patch }: { object: O; trigger: Trigger; patch: PatchRecord<O> },
): Promise<number | undefined> => {
  const state = tended.reconcile
  const now = monotonic(env.clock)
  if (!matches(handler.filters, object)) {
    rest(state, undefined)
    return undefined
  }
  const isDue = state.due !== undefined && state.due <= now
  if (!trigger.stirred && !isDue && !(trigger.echoed && state.failures === 0)) return remaining(state, now)
  // It had given up; what happened since deserves new tries.
  if (state.due === undefined && state.failures > 0) rest(state, undefined)

  const outcome = await attempt(env, tended, handler, state, object, patch)
  if (outcome === undefined) return undefined
  const ended = monotonic(env.clock)
  if (outcome.kind === 'requeue') rest(state, ended + outcome.delay)
  else if (outcome.kind === 'temporary') retry(state, ended + outcome.delay)
  else if (outcome.kind === 'permanent') {
    state.failures += 1
    state.due = undefined
  } else rest(state, undefined)
  return remaining(state, ended)
}

/** Calls a timer whose time has come. @returns milliseconds after which to come back */
export const runTimer = async <O extends KubeObject>(
  env: Environment<O>,
  tended: Tended<O>,
  timer: TimerHandler<O>,
  { object, patch }: { object: O; patch: PatchRecord<O> },
): Promise<number | undefined> => {
  if (!matches(timer.filters, object)) {
    tended.timers?.delete(timer.id)
    return undefined
  }
  const now = monotonic(env.clock)
  tended.timers ??= new Map()
  const state = tended.timers.get(timer.id) ?? { due: now + timer.initialDelay, failures: 0, startedAt: undefined }
  tended.timers.set(timer.id, state)
  const due = Math.max(state.due ?? now, timer.idle === 0 ? 0 : tended.quietSince + timer.idle)
  if (due > now) return due - now

  const outcome = await attempt(env, tended, timer, state, object, patch)
  if (outcome === undefined) return undefined
  const ended = monotonic(env.clock)
  if (outcome.kind === 'temporary') retry(state, ended + outcome.delay)
  else rest(state, nextTick(timer, now, ended))
  return remaining(state, ended)
}

/** A sharp timer keeps its beat: a call that took longer than the interval skips ticks. */
const nextTick = ({ every, sharp }: TimerHandler, began: number, ended: number): number =>
  sharp ? began + every * Math.max(1, Math.ceil((ended - began) / every)) : ended + every

/** Undefined when it was interrupted: the run or the object's life is over. */
const attempt = async <O extends KubeObject>(
  env: Environment<O>,
  tended: Tended<O>,
  handler: ReconcileHandler<O> | TimerHandler<O>,
  state: Recurring,
  object: O,
  patch: PatchRecord<O>,
): Promise<Outcome | undefined> => {
  state.startedAt ??= env.clock.now().getTime()
  const { failures, startedAt } = state
  const ended = await call(env, tended, {
    id: handler.id,
    filters: handler.filters,
    object,
    patch,
    failures,
    startedAt,
    run: (context) => handler.run(context),
  })
  if (ended === 'interrupted') return undefined
  // Coming back is what they are for, so it is under no timeout; only failing is.
  const limits = env.limits(handler.policy)
  const now = env.clock.now().getTime()
  const outcome: Outcome =
    !('error' in ended) && ended.requeueAfter !== undefined
      ? { kind: 'requeue', delay: ended.requeueAfter }
      : decideOutcome(ended, { failures, startedAt }, limits, { now, random: env.random() })
  report(env, tended, handler.id, outcome)
  return outcome
}

const rest = (state: Recurring, due: number | undefined): void => {
  state.due = due
  state.failures = 0
  state.startedAt = undefined
}

const retry = (state: Recurring, due: number): void => {
  state.due = due
  state.failures += 1
}

const remaining = ({ due }: Recurring, now: number): number | undefined =>
  due === undefined ? undefined : Math.max(0, due - now)
