import { tooManyRequests } from '../problems/too-many-requests.ts'
import type { Search } from './search-tree.ts'

/** How costly searches share the database. */
export interface SearchTurnsSettings {
  /** Under way at once, of all callers; one caller has one. */
  readonly total: number
  /** After a search that held it for longer than a moment, the database is left to others for as long. */
  readonly pauses: boolean
}

/** Costly searches of one caller that wait, at most. */
const MAX_WAITING = 8
/** Seconds after which a caller with that many may try again. */
const RETRY_SECONDS = 5
/** A moment, in milliseconds. */
const MIN_PAUSE_MS = 20

export interface Searcher {
  /** Tells callers apart. */
  readonly caller: string
  readonly signal: AbortSignal
  /** Part of it is answered already, so it may wait and is not refused. */
  readonly isUnderWay?: boolean
}

interface Waiter {
  start(): void
}

/**
 * Costly searches of one caller take turns, and the callers among each other: one that searches much waits for itself alone. API-123.
 *
 *   search ─► runs, when its caller has none under way and there is a place
 *          ─► waits, in the order in which the caller asked, and behind callers that had no turn for longer
 *          ─► 429, when as many of its caller wait already
 */
export class SearchTurns {
  readonly #settings: SearchTurnsSettings
  readonly #running = new Set<string>()
  /** By caller; those that had no turn for longest come first. */
  readonly #waiting = new Map<string, Waiter[]>()

  constructor(settings: SearchTurnsSettings) {
    this.#settings = settings
  }

  /** @throws Problem, what the work throws, or the signal's reason */
  async run<T>(searcher: Searcher, work: () => Promise<T>): Promise<T> {
    const { caller, signal } = searcher
    await this.#enter(searcher)
    const began = performance.now()
    try {
      signal.throwIfAborted()
      return await work()
    } finally {
      const took = performance.now() - began
      if (this.#settings.pauses && took > MIN_PAUSE_MS) setTimeout(() => this.#leave(caller), took).unref()
      else this.#leave(caller)
    }
  }

  #enter({ caller, signal, isUnderWay = false }: Searcher): Promise<void> {
    const queue = this.#waiting.get(caller) ?? []
    if (queue.length >= MAX_WAITING && !isUnderWay)
      throw tooManyRequests('you have as many searches waiting as one caller may', RETRY_SECONDS)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => {
      const own = this.#waiting.get(caller) ?? []
      own.splice(own.indexOf(waiter), 1)
      if (own.length === 0) this.#waiting.delete(caller)
      reject(signal.reason)
    }
    const waiter = {
      start: () => {
        signal.removeEventListener('abort', abort)
        resolve()
      },
    }
    if (signal.aborted) return Promise.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    queue.push(waiter)
    this.#waiting.set(caller, queue)
    this.#startNext()
    return promise
  }

  #leave(caller: string): void {
    this.#running.delete(caller)
    const queue = this.#waiting.get(caller)
    // It had a turn: others come first.
    if (queue !== undefined && this.#waiting.delete(caller)) this.#waiting.set(caller, queue)
    this.#startNext()
  }

  #startNext(): void {
    for (const [caller, queue] of this.#waiting) {
      if (this.#running.size >= this.#settings.total) return
      if (this.#running.has(caller)) continue
      const next = queue.shift()
      if (queue.length === 0) this.#waiting.delete(caller)
      this.#running.add(caller)
      next?.start()
    }
  }
}

/** Whether what one row costs grows with what is stored there: a spec is read as a whole, a pattern is tried everywhere. */
export const isCostly = (search: Search): boolean => {
  switch (search.type) {
    case 'and':
    case 'or':
      return search.operands.some(isCostly)
    case 'not':
      return isCostly(search.operand)
    case 'missing':
      return search.operand.type === 'spec'
    case 'test':
      return search.operand.type === 'spec' || search.test.operator === 'like' || search.test.operator === 'ilike'
  }
}
