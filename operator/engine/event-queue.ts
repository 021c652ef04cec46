import type { Clock } from '../model/clock.ts'
import { createKeyedQueue } from './keyed-queue.ts'

export interface EventQueueOptions<E> {
  /** Objects that are served at the same time. */
  readonly concurrency: number
  /** Milliseconds after the first, second, … failure in a row. */
  readonly errorDelays: readonly number[]
  /** In [0, 1), for jitter. */
  readonly random?: () => number
  readonly clock: Clock
  deliver(event: E): Promise<void>
  onError(key: string, error: unknown, delay: number): void
}

/**
 * Every event to one listener, in order for each object, several objects at the same time. An event that failed comes
 * again after a delay, unless a newer one of the same object has come: that one says more.
 */
export interface EventQueue<E> {
  add(key: string, event: E): void
  stop(): Promise<void>
}

export const createEventQueue = <E>(options: EventQueueOptions<E>): EventQueue<E> => {
  const { concurrency, errorDelays, random = Math.random, clock, deliver, onError } = options
  const pending = new Map<string, E[]>()

  const queue = createKeyedQueue({
    concurrency,
    errorDelays,
    random,
    clock,
    async work(key) {
      const events = pending.get(key) ?? []
      for (let event = events.shift(); event !== undefined; event = events.shift()) {
        try {
          await deliver(event)
        } catch (error) {
          if (events.length > 0) continue
          events.push(event)
          throw error
        }
      }
      pending.delete(key)
      return undefined
    },
    onError: (key, error, _failures, delay) => onError(key, error, delay),
  })

  return {
    add(key, event) {
      const events = pending.get(key)
      if (events === undefined) pending.set(key, [event])
      else events.push(event)
      queue.add(key)
    },
    stop: () => queue.stop(),
  }
}
