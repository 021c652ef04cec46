import { Heap, type HeapItem } from '#lib/heap/heap.ts'
import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '../model/clock.ts'

/** Longer sleeps are made of shorter ones: Node's timers overflow after 24.8 days. */
const MAX_SLEEP_MS = 3_600_000

/** Keys that are due later. One timer for all of them; each key has one due time, the latest that was set. */
export interface DelayingQueue {
  /** @param due on the clock's monotonic time, in milliseconds */
  set(key: string, due: number): void
  delete(key: string): void
  due(key: string): number | undefined
  stop(): void
}

/** A key in the heap, ordered by when it is due. */
interface DelayedKey extends HeapItem {
  readonly key: string
}

/** @param onDue called once for each key when its time has come */
export const createDelayingQueue = (clock: Clock, onDue: (key: string) => void): DelayingQueue => {
  const delayed = new Map<string, DelayedKey>()
  let heap = new Heap<DelayedKey>()
  let sleeping: { readonly until: number; readonly abort: AbortController } | undefined
  let stopped = false

  const remove = (key: string) => {
    const item = delayed.get(key)
    if (item === undefined) return
    delayed.delete(key)
    heap.remove(item)
  }

  const arm = () => {
    const next = heap.first()
    if (stopped || next === undefined || (sleeping !== undefined && sleeping.until <= next.at)) return
    sleeping?.abort.abort()
    const now = monotonic(clock)
    const sleep = { until: Math.min(next.at, now + MAX_SLEEP_MS), abort: new AbortController() }
    sleeping = sleep
    const wake = () => {
      if (sleeping !== sleep) return
      sleeping = undefined
      fire()
    }
    detach('waiting for what is due next', clock.sleep(Math.max(0, sleep.until - now), sleep.abort.signal).then(wake))
  }

  const fire = () => {
    const now = monotonic(clock)
    for (let next = heap.first(); next !== undefined && next.at <= now; next = heap.first()) {
      remove(next.key)
      onDue(next.key)
    }
    arm()
  }

  return {
    set(key, due) {
      if (stopped) return
      const item = delayed.get(key) ?? { key, at: due, place: -1 }
      item.at = due
      delayed.set(key, item)
      heap.put(item)
      arm()
    },
    delete: remove,
    due: (key) => delayed.get(key)?.at,
    stop() {
      stopped = true
      delayed.clear()
      heap = new Heap()
      sleeping?.abort.abort()
      sleeping = undefined
    },
  }
}
