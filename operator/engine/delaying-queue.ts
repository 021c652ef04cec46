import { type Clock, monotonic } from '../model/clock.ts'

/** Longer sleeps are made of shorter ones: Node's timers overflow after 24.8 days. */
const MAX_SLEEP_MS = 3_600_000

/** Keys that are due later. One timer for all of them; each key has one due time, the latest that was set. */
export interface DelayingQueue {
  /** @param due on the clock's monotonic time, in milliseconds */
  set(key: string, due: number): void
  delete(key: string): void
  due(key: string): number | undefined
  readonly size: number
  stop(): void
}

/** @param onDue called once for each key when its time has come */
export const createDelayingQueue = (clock: Clock, onDue: (key: string) => void): DelayingQueue => {
  const dueOf = new Map<string, number>()
  /** A binary heap by due time. Entries that `dueOf` contradicts are out of date and skipped. */
  const heap: Entry[] = []
  let sleeping: { readonly until: number; readonly abort: AbortController } | undefined
  let stopped = false

  const dropOutdated = () => {
    for (let top = heap[0]; top !== undefined && dueOf.get(top.key) !== top.due; top = heap[0]) pop(heap)
  }

  const arm = () => {
    dropOutdated()
    const next = heap[0]
    if (stopped || next === undefined || (sleeping !== undefined && sleeping.until <= next.due)) return
    sleeping?.abort.abort()
    const now = monotonic(clock)
    const nap = { until: Math.min(next.due, now + MAX_SLEEP_MS), abort: new AbortController() }
    sleeping = nap
    void clock.sleep(Math.max(0, nap.until - now), nap.abort.signal).then(() => {
      if (sleeping !== nap) return
      sleeping = undefined
      fire()
    })
  }

  const fire = () => {
    const now = monotonic(clock)
    for (dropOutdated(); heap[0] !== undefined && heap[0].due <= now; dropOutdated()) {
      const { key } = heap[0]
      pop(heap)
      dueOf.delete(key)
      onDue(key)
    }
    arm()
  }

  return {
    set(key, due) {
      if (stopped || dueOf.get(key) === due) return
      dueOf.set(key, due)
      push(heap, { key, due })
      arm()
    },
    delete: (key) => {
      dueOf.delete(key)
    },
    due: (key) => dueOf.get(key),
    get size() {
      return dueOf.size
    },
    stop() {
      stopped = true
      dueOf.clear()
      heap.length = 0
      sleeping?.abort.abort()
      sleeping = undefined
    },
  }
}

interface Entry {
  readonly key: string
  readonly due: number
}

const push = (heap: Entry[], entry: Entry) => {
  let at = heap.length
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent]
    if (above === undefined || above.due <= entry.due) break
    heap[at] = above
    at = parent
  }
  heap[at] = entry
}

const pop = (heap: Entry[]) => {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    const right = left + 1
    const smaller =
      (heap[right]?.due ?? Number.POSITIVE_INFINITY) < (heap[left]?.due ?? Number.POSITIVE_INFINITY) ? right : left
    const child = heap[smaller]
    if (child === undefined || child.due >= last.due) break
    heap[at] = child
    at = smaller
  }
  heap[at] = last
}
