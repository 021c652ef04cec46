import { type Duration, toMilliseconds } from './duration.ts'
import { PermanentError, TemporaryError } from './errors.ts'

/** What a handler's errors mean and how often it is called again. Look-ahead: a limit that the next try would break counts as broken now. */
export interface RetryPolicy {
  /** What a plain thrown Error means. Default 'temporary'. */
  readonly errors?: 'temporary' | 'permanent' | 'ignored'
  /** Calls in all, the first included. Default: no limit. */
  readonly retries?: number
  /** From the first call on. Default: no limit. */
  readonly timeout?: Duration
  /** A constant delay, or one that grows. Default: settings.execution.defaultBackoff. */
  readonly backoff?: Duration | { readonly initial: Duration; readonly factor: number; readonly max: Duration }
}

/** A RetryPolicy with its defaults filled in; times in milliseconds. */
export interface Limits {
  readonly errors: 'temporary' | 'permanent' | 'ignored'
  readonly retries: number
  readonly timeout: number
  readonly backoff: Backoff
}

/** How delays grow, in milliseconds. */
export interface ExponentialBackoff {
  readonly initial: number
  readonly factor: number
  readonly max: number
}

/** `jitter` is the largest share by which a delay may differ, 0 for exact delays. */
export interface Backoff extends ExponentialBackoff {
  readonly jitter: number
}

/** How a handler result, before it is judged. */
export type CallResult = { readonly requeueAfter: number | undefined } | { readonly error: unknown }

/** What that means. Delays in milliseconds. */
export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'requeue'; readonly delay: number }
  | { readonly kind: 'temporary'; readonly delay: number; readonly error: Error }
  | { readonly kind: 'permanent'; readonly error: Error; readonly reason: string }
  | { readonly kind: 'ignored'; readonly error: Error }

export interface Attempt {
  /** Failed calls before this one. */
  readonly failures: number
  /** When the first call began, milliseconds since the epoch. */
  readonly startedAt: number
}

/** The delay before the next call after `failures` failed ones in a row, in milliseconds. `random` is in [0, 1). */
export const backoffDelay = (backoff: Backoff, failures: number, random: number): number =>
  Math.round(exponentialDelay(backoff, failures) * (1 + backoff.jitter * (2 * random - 1)))

/** The delay after so many failures in a row, from 1 on, in milliseconds. */
export const exponentialDelay = ({ initial, factor, max }: ExponentialBackoff, failures: number): number =>
  Math.min(max, initial * factor ** (failures - 1))

/**
 * The outcome of one call. Waiting is no failure, so only `timeout` limits it.
 * `now` is in milliseconds since the epoch, `random` in [0, 1). RUNTIME-3, RUNTIME-4.
 */
export const decideOutcome = (
  result: CallResult,
  attempt: Attempt,
  limits: Limits,
  { now, random }: { now: number; random: number },
): Outcome => {
  const runtime = now - attempt.startedAt
  if (!('error' in result)) {
    const delay = result.requeueAfter
    if (delay === undefined) return { kind: 'success' }
    return runtime + delay >= limits.timeout ? timedOut(runtime, undefined) : { kind: 'requeue', delay }
  }

  const error = asError(result.error)
  if (error instanceof PermanentError) return { kind: 'permanent', error, reason: error.reason ?? 'Failed' }
  const explicit = error instanceof TemporaryError
  if (!explicit && limits.errors === 'permanent') return { kind: 'permanent', error, reason: 'Failed' }
  if (!explicit && limits.errors === 'ignored') return { kind: 'ignored', error }

  const failures = attempt.failures + 1
  const delay =
    explicit && error.delay !== undefined ? toMilliseconds(error.delay) : backoffDelay(limits.backoff, failures, random)
  if (failures >= limits.retries) return outOfRetries(failures, error)
  if (runtime + delay >= limits.timeout) return timedOut(runtime, error)
  return { kind: 'temporary', delay, error }
}

const outOfRetries = (failures: number, cause: Error): Outcome => ({
  kind: 'permanent',
  reason: 'RetriesExhausted',
  error: new PermanentError(`gave up after ${failures} tries: ${cause.message}`, { cause, reason: 'RetriesExhausted' }),
})

const timedOut = (runtime: number, cause: Error | undefined): Outcome => ({
  kind: 'permanent',
  reason: 'TimedOut',
  error: new PermanentError(
    `gave up after ${Math.round(runtime / 1000)} s, the next try would be too late${cause ? `: ${cause.message}` : ''}`,
    { cause, reason: 'TimedOut' },
  ),
})

/** What was thrown, as an Error: JavaScript lets people throw anything. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))
