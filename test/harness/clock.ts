import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '#operator/model/clock.ts'
import { type Duration, toMilliseconds } from '#operator/model/duration.ts'

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  /**
   * Moves the time forward and wakes every sleeper whose time comes on the way, in order, each at its own moment. What they do then
   * without real I/O is done when this resolves; a sleeper that sleeps again within the span is woken again.
   */
  advance(duration: Duration): Promise<void>
  /** The machine's time is set by so many milliseconds, back where negative: no sleep and no span is longer or shorter for it. */
  set(by: number): void
  /** How many sleep now. */
  sleepers(): number
}

interface Sleeper {
  /** By the clock that is never set. */
  readonly until: number
  wake(): void
}

/** @param start RFC 3339 */
export const manualClock = (start = '2026-01-01T00:00:00Z'): ManualClock => {
  /** Milliseconds of the clock that is never set. */
  let now = Date.parse(start)
  let setBy = 0
  const sleepers = new Set<Sleeper>()

  const earliest = (limit: number): Sleeper | undefined =>
    [...sleepers].filter(({ until }) => until <= limit).toSorted((a, b) => a.until - b.until)[0]

  return {
    now: () => new Date(now + setBy),
    monotonic: () => now,
    sleep: (duration, signal) => {
      const until = now + toMilliseconds(duration)
      if (until <= now || signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { until, wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake)
      })
    },
    advance: async (duration) => {
      const target = now + toMilliseconds(duration)
      await turn()
      for (let next = earliest(target); next !== undefined; next = earliest(target)) {
        now = next.until
        next.wake()
        await turn()
      }
      now = target
    },
    set: (by) => {
      setBy += by
    },
    sleepers: () => sleepers.size,
  }
}
