import type { Api } from '../client/api.ts'
import { LeaseLostError } from '../client/lease.ts'

/**
 * What a daemon reads and writes with while it holds its lease: once the lease is lost, or the daemon has ended, requests
 * are cut and refused, because another process may be at work. An ordinary stop leaves it time for its last words.
 * RUNTIME-48.
 */
export class LeasedApi implements Disposable {
  readonly api: Api
  readonly #held: AbortSignal
  readonly #over = new AbortController()

  /** @param held aborts with a LeaseLostError when the lease is lost, with anything else for a stop */
  constructor(api: Api, held: AbortSignal) {
    this.#held = held
    this.api = api.withLimits({ signal: this.#over.signal })
    held.addEventListener('abort', this)
    if (held.aborted) this.handleEvent()
  }

  handleEvent(): void {
    if (this.#held.reason instanceof LeaseLostError) this.#over.abort(this.#held.reason)
  }

  [Symbol.dispose](): void {
    this.#held.removeEventListener('abort', this)
    this.#over.abort(new Error('the daemon has ended, and its lease with it'))
  }
}
