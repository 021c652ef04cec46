/** Longer timers of Node.js end at once. Milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1

const ENDED = new DOMException('what this signal was for has ended', 'AbortError')

/**
 * A signal for one piece of work: it aborts when one of its sources does, when its time is over, or when the work ends.
 * `using scope = new AbortScope(signal)` ends it with its block, whatever was begun in the block included.
 *
 * Used instead of `AbortSignal.any` and `AbortSignal.timeout`, which the linter refuses: composed by Node.js 24, an abort
 * is lost when its source is collected before anything listens (nodejs/node#65995), and a signal that lives as long as the
 * process keeps an entry for every signal that was ever composed of it (nodejs/node#64476). Here the sources hold the
 * scope by one listener each until it ends, and nothing afterwards. RUNTIME-46.
 */
export class AbortScope implements Disposable {
  readonly #controller = new AbortController()
  readonly #sources: readonly AbortSignal[]
  #timer: NodeJS.Timeout | undefined
  #ending: NodeJS.Immediate | undefined

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined)
    const aborted = this.#sources.find((source) => source.aborted)
    if (aborted !== undefined) this.#controller.abort(aborted.reason)
    else for (const source of this.#sources) source.addEventListener('abort', this)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * Also aborts after so many milliseconds, with a TimeoutError; a process doesn't wait for that. Fractions are rounded up,
   * and the longest limit is 24 days, as Node.js has no longer timers. What came while the process stood still is read before: RUNTIME-88.
   */
  within(milliseconds: number): this {
    if (this.signal.aborted) return this
    this.#clear()
    const limit = Math.min(Math.ceil(milliseconds), MAX_TIMER_MS)
    const end = () => this.abort(new DOMException(`no end within ${limit} ms`, 'TimeoutError'))
    this.#timer = setTimeout(() => {
      this.#ending = setImmediate(end)
    }, limit)
    this.#timer.unref()
    return this
  }

  /** Ends it; the sources don't know it any more. Without effect the second time. */
  abort(reason: unknown = ENDED): void {
    this.#clear()
    for (const source of this.#sources) source.removeEventListener('abort', this)
    this.#controller.abort(reason)
  }

  #clear(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#ending)
  }

  /** For the sources. */
  handleEvent({ target }: Event): void {
    this.abort((target as AbortSignal).reason)
  }

  [Symbol.dispose](): void {
    this.abort()
  }
}
