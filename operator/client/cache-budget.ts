import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import { MAX_CACHED_BYTES } from './heap-shares.ts'

/** There is no room in memory for one more object. */
export class CacheFullError extends errorOf(OPERATOR_ERRORS, 'CacheFullError') {
  constructor(maxBytes: number) {
    const size = `${Math.floor(maxBytes / 2 ** 20)} MiB`
    super(`the watched objects need more than ${size}, half of the memory that this process may use`)
  }
}

/** What an object costs beside its text: its place in maps, and what a controller keeps of it. Bytes. */
const OBJECT_BYTES = 1_024

/** How much memory all caches of a process together may take. RUNTIME-55. */
export class CacheBudget {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = MAX_CACHED_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** A part of it, for the objects of one cache. */
  open(): CacheShare {
    const sizes = new Map<string, number>()
    const remove = (key: string): void => {
      this.#bytes -= sizes.get(key) ?? 0
      sizes.delete(key)
    }
    return {
      put: (key, textBytes) => {
        const bytes = OBJECT_BYTES + textBytes
        // What is known changes: a cache that is not current is worse than one that is a little too large.
        if (!sizes.has(key) && this.#bytes + bytes > this.#maxBytes) throw new CacheFullError(this.#maxBytes)
        remove(key)
        sizes.set(key, bytes)
        this.#bytes += bytes
      },
      remove,
      close: () => {
        for (const key of sizes.keys()) remove(key)
      },
    }
  }
}

export interface CacheShare {
  /** @param textBytes of the object as JSON @throws CacheFullError when a new object does not fit */
  put(key: string, textBytes: number): void
  remove(key: string): void
  /** Nothing of it is in memory any more. */
  close(): void
}

/** Of this process. */
export const cacheBudget = new CacheBudget()
