import { monotonic } from '../model/clock.ts'
import { matches } from '../model/filters.ts'
import { decideOutcome, type Outcome } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import { call, report } from './call-handler.ts'
import type { ReconcileHandler, TimerHandler } from './definition.ts'
import type { Environment } from './environment.ts'
import type { ObjectState, Schedule } from './object-state.ts'
import type { PatchRecord } from './patch.ts'

/** What happened since reconcile was called last. */
export interface ReconcileTrigger {
  /** Something that we did not do. */
  readonly externalChange: boolean
  /** Our own write came back. */
  readonly ownWriteSeen: boolean
}

/**
 * Calls `reconcile` when something happened or its time has come. Our own writes count as well, so that a reconcile may
 * go step by step over its status, but not while it fails: a failure that is written to the status would spin. RUNTIME-1, RUNTIME-6, RUNTIME-7.
 * @returns milliseconds after which to come back; undefined: when something happens
 */
export const runReconcile = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  handler: ReconcileHandler<O>,
  { object, trigger, patch }: { object: O; trigger: ReconcileTrigger; patch: PatchRecord<O> },
): Promise<number | undefined> => {
  const schedule = state.reconcile
  const now = monotonic(env.clock)
  if (!matches(handler.filters, object)) {
    reschedule(schedule, undefined)
    return undefined
  }
  const isDue = schedule.due !== undefined && schedule.due <= now
  if (!trigger.externalChange && !isDue && !(trigger.ownWriteSeen && schedule.failures === 0))
    return remaining(schedule, now)
  // It had given up; what happened since deserves new tries.
  if (schedule.due === undefined && schedule.failures > 0) reschedule(schedule, undefined)

  const outcome = await attempt(env, state, handler, schedule, object, patch)
  if (outcome === undefined) return undefined
  const ended = monotonic(env.clock)
  if (outcome.kind === 'requeue') reschedule(schedule, ended + outcome.delay)
  else if (outcome.kind === 'temporary') scheduleRetry(schedule, ended + outcome.delay)
  else if (outcome.kind === 'permanent') {
    schedule.failures += 1
    schedule.due = undefined
  } else reschedule(schedule, undefined)
  return remaining(schedule, ended)
}

/** Calls a timer whose time has come. @returns milliseconds after which to come back. RUNTIME-28. */
export const runTimer = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  timer: TimerHandler<O>,
  { object, patch }: { object: O; patch: PatchRecord<O> },
): Promise<number | undefined> => {
  if (!matches(timer.filters, object)) {
    state.timers?.delete(timer.id)
    return undefined
  }
  const now = monotonic(env.clock)
  state.timers ??= new Map()
  const schedule = state.timers.get(timer.id) ?? { due: now + timer.initialDelay, failures: 0, startedAt: undefined }
  state.timers.set(timer.id, schedule)
  const due = Math.max(schedule.due ?? now, timer.idle === 0 ? 0 : state.unchangedSince + timer.idle)
  if (due > now) return due - now

  const outcome = await attempt(env, state, timer, schedule, object, patch)
  if (outcome === undefined) return undefined
  const ended = monotonic(env.clock)
  if (outcome.kind === 'temporary') scheduleRetry(schedule, ended + outcome.delay)
  else reschedule(schedule, nextTick(timer, now, ended))
  return remaining(schedule, ended)
}

/** A sharp timer keeps its beat: a call that took longer than the interval skips ticks. */
const nextTick = ({ every, sharp }: TimerHandler, began: number, ended: number): number =>
  sharp ? began + every * Math.max(1, Math.ceil((ended - began) / every)) : ended + every

/** Undefined when it was interrupted: the run or the scope of the object is over. */
const attempt = async <O extends KubeObject>(
  env: Environment<O>,
  state: ObjectState<O>,
  handler: ReconcileHandler<O> | TimerHandler<O>,
  schedule: Schedule,
  object: O,
  patch: PatchRecord<O>,
): Promise<Outcome | undefined> => {
  schedule.startedAt ??= env.clock.now().getTime()
  const { failures, startedAt } = schedule
  const result = await call(env, state, {
    id: handler.id,
    filters: handler.filters,
    object,
    patch,
    failures,
    startedAt,
    run: (context) => handler.run(context),
  })
  if (result === 'interrupted') return undefined
  // Coming back is what they are for, so it is under no timeout; only failing is.
  const limits = env.limits(handler.policy)
  const now = env.clock.now().getTime()
  const outcome: Outcome =
    !('error' in result) && result.requeueAfter !== undefined
      ? { kind: 'requeue', delay: result.requeueAfter }
      : decideOutcome(result, { failures, startedAt }, limits, { now, random: env.random() })
  report(env, state, handler.id, outcome)
  return outcome
}

const reschedule = (schedule: Schedule, due: number | undefined): void => {
  schedule.due = due
  schedule.failures = 0
  schedule.startedAt = undefined
}

const scheduleRetry = (schedule: Schedule, due: number): void => {
  schedule.due = due
  schedule.failures += 1
}

const remaining = ({ due }: Schedule, now: number): number | undefined =>
  due === undefined ? undefined : Math.max(0, due - now)
