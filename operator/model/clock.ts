import { setTimeout as delay } from 'node:timers/promises'
import { type Duration, toMilliseconds } from './duration.ts'

/** Where time comes from. Domain code takes a clock or a moment, never `Date.now()`, so tests decide what time it is. */
export interface Clock {
  now(): Date
  /** Resolves after the duration, or at once and quietly when the signal aborts: callers look at the signal. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void>
  /** Milliseconds since some moment, not moved by changes of the machine's time. `now` serves where it is missing. */
  monotonic?(): number
}

/** Milliseconds for measuring spans: leases and liveness must not be fooled when somebody sets the machine's time. */
export const monotonic = (clock: Clock): number => clock.monotonic?.() ?? clock.now().getTime()

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: async (duration, signal) => {
    try {
      await delay(toMilliseconds(duration), undefined, signal === undefined ? {} : { signal })
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  },
}
