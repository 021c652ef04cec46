import { type Clock, monotonic } from '#operator/model/clock.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'

/** How long failed work waits before it is started again, in milliseconds. */
const RESTART_BACKOFF: ExponentialBackoff = { initial: 1_000, factor: 2, max: 300_000 }

export interface RetryOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** @param pause milliseconds until the work is started again */
  onFailure(error: unknown, pause: number): void
}

/**
 * Does the work until it ends or the signal aborts: ADAPTER-23. Failed work is started again after a pause, twice as long each time,
 * and short again once the work went on for longer than the longest pause.
 * @throws what the work throws once the signal has aborted
 */
export const retryWithBackoff = async (
  work: () => Promise<void>,
  { clock, signal, onFailure: onBreak }: RetryOptions,
): Promise<void> => {
  let failures = 0
  while (!signal.aborted) {
    const begun = monotonic(clock)
    try {
      return await work()
    } catch (error) {
      if (signal.aborted) throw error
      failures = monotonic(clock) - begun > RESTART_BACKOFF.max ? 1 : failures + 1
      const pause = exponentialDelay(RESTART_BACKOFF, failures)
      onBreak(error, pause)
      await clock.sleep(pause, signal)
    }
  }
}
