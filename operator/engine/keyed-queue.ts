import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { createDelayingQueue } from './delaying-queue.ts'

/** What is counted about a queue; the names are controller-runtime's workqueue metrics. Times in seconds. */
export interface QueueMetrics {
  added(): void
  depth(length: number): void
  /** From being added to being taken. */
  queued(seconds: number): void
  /** From being taken to being done. */
  worked(seconds: number): void
  retried(): void
  /** Asked at every scrape: for how many seconds each key in work has been so. */
  inWork(ages: () => readonly number[]): void
}

export interface QueueOptions {
  /** Keys worked on at the same time. */
  readonly concurrency: number
  /** Milliseconds to wait after the first, second, … failure in a row of a key; the last one repeats. Not empty. */
  readonly errorDelays: readonly number[]
  /** In [0, 1): what failed together is not tried together. */
  readonly random: () => number
  readonly clock: Clock
  readonly metrics?: QueueMetrics | undefined
  /** Told how many keys are in work. */
  onActive?: (keys: number) => void
  /** Works on a key. Returns after how many milliseconds to come back by itself, if at all. */
  work(key: string): Promise<number | undefined>
  /** `work` threw. Never the end: the key comes back after the delay, in milliseconds. */
  onError(key: string, error: unknown, failures: number, delay: number): void
}

/**
 * Keys to work on: each at most once at a time, in the order they came, and once however often they were added in the
 * meantime (level triggering: what matters is what is true when the work begins). RUNTIME-2.
 */
export interface KeyedQueue {
  /** Work on it as soon as a worker is free, and again if it is being worked on now. */
  add(key: string): void
  /** Forget delays and failures of a key that is gone. */
  forget(key: string): void
  /** Takes no more keys. Resolves when those being worked on are done. */
  stop(): Promise<void>
  readonly length: number
}

/** A delay grows by up to this share. */
const JITTER = 0.2

export const createKeyedQueue = (options: QueueOptions): KeyedQueue => {
  const { concurrency, errorDelays, random, clock, metrics, onActive, work, onError } = options
  const waiting = createFifo()
  /** When each waiting key was added; membership means it waits. */
  const addedAt = new Map<string, number>()
  /** Since when each key has been in work. */
  const active = new Map<string, number>()
  /** Added while being worked on. */
  const again = new Set<string>()
  const failures = new Map<string, number>()
  const delays = createDelayingQueue(clock, (key) => add(key))
  let stopped = false
  let drained = () => {}
  metrics?.inWork(() => [...active.values()].map((began) => (monotonic(clock) - began) / 1000))

  const add = (key: string) => {
    if (stopped) return
    delays.delete(key)
    if (active.has(key)) {
      again.add(key)
      return
    }
    if (addedAt.has(key)) return
    addedAt.set(key, monotonic(clock))
    waiting.push(key)
    metrics?.added()
    metrics?.depth(addedAt.size)
    pump()
  }

  const pump = () => {
    while (!stopped && active.size < concurrency) {
      const key = waiting.shift()
      if (key === undefined) return
      detach('working on an object', take(key))
    }
  }

  const take = async (key: string) => {
    const began = monotonic(clock)
    metrics?.queued((began - (addedAt.get(key) ?? began)) / 1000)
    addedAt.delete(key)
    active.set(key, began)
    metrics?.depth(addedAt.size)
    onActive?.(active.size)
    let after: number | undefined
    try {
      after = await work(key)
      failures.delete(key)
    } catch (error) {
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      after = (errorDelays[Math.min(count, errorDelays.length) - 1] ?? 0) * (1 + JITTER * random())
      metrics?.retried()
      onError(key, error, count, after)
      // The error's delay holds, whatever came in meanwhile: else a busy object that always fails would spin.
      again.delete(key)
    }
    active.delete(key)
    metrics?.worked((monotonic(clock) - began) / 1000)
    onActive?.(active.size)
    if (again.delete(key)) add(key)
    else if (after !== undefined && !stopped) delays.set(key, monotonic(clock) + after)
    if (stopped && active.size === 0) drained()
    pump()
  }

  return {
    add(key) {
      // An error's delay holds against new events, too.
      if (failures.has(key) && delays.due(key) !== undefined) return
      add(key)
    },
    forget(key) {
      failures.delete(key)
      delays.delete(key)
    },
    async stop() {
      stopped = true
      delays.stop()
      waiting.clear()
      addedAt.clear()
      again.clear()
      if (active.size === 0) return
      await new Promise<void>((resolve) => {
        drained = resolve
      })
    },
    get length() {
      return addedAt.size
    },
  }
}

/** First in, first out, with constant cost at both ends. */
const createFifo = () => {
  let items: string[] = []
  let head = 0
  return {
    push: (item: string) => {
      items.push(item)
    },
    shift: (): string | undefined => {
      const item = items[head]
      if (item === undefined) return undefined
      head += 1
      if (head > 1024 && head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return item
    },
    clear: () => {
      items = []
      head = 0
    },
  }
}
