import { setTimeout as delay } from 'node:timers/promises'
import { MAX_TIMER_MS } from '#lib/abort/abort-scope.ts'
import { type Duration, toMilliseconds } from './duration.ts'

/** Where time comes from. Domain code takes a clock or a moment, never `Date.now()`, so tests decide what time it is. */
export interface Clock {
  now(): Date
  /** Resolves after the duration, or at once and quietly when the signal aborts: callers look at the signal. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void>
  /** Milliseconds since some moment, not moved by changes of the machine's time. `now` serves where it is missing. */
  monotonic?(): number
}

/** Milliseconds for measuring spans: leases and liveness must not change when the machine's time is set. */
export const monotonic = (clock: Pick<Clock, 'now' | 'monotonic'>): number =>
  clock.monotonic?.() ?? clock.now().getTime()

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: async (duration, signal) => {
    try {
      for (let rest = toMilliseconds(duration); ; rest -= MAX_TIMER_MS) {
        await delay(Math.min(rest, MAX_TIMER_MS), undefined, signal === undefined ? {} : { signal })
        if (!(rest > MAX_TIMER_MS)) return
      }
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  },
}
