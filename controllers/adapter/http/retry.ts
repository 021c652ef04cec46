/** When a request is tried again, and after how long: ADAPTER-13. As in the Go adapter. */
import type { Retry } from '../task/task.ts'

/** Answers that may be another one next time; every other 4xx stays what it is. */
export const isRetryable = (status: number): boolean => status >= 500 || status === 408 || status === 429

const JITTER = 0.1

/**
 * Milliseconds to wait after a failed try.
 * @param failed how many tries have failed, from 1
 * @param random in [0, 1): spreads the delay by a tenth either way
 */
export const retryDelay = ({ backoff, baseDelayMs, maxDelayMs }: Retry, failed: number, random: number): number => {
  const grown = { constant: baseDelayMs, linear: baseDelayMs * failed, exponential: baseDelayMs * 2 ** (failed - 1) }[
    backoff
  ]
  return Math.min(grown, maxDelayMs) * (1 - JITTER + 2 * JITTER * random)
}
