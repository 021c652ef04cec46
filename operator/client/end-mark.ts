import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { END_MARK_TIMEOUT_MS, EndMarkMissingError } from './watch.ts'

/** Gives a WatchList up when neither a new object nor the mark of its end has come for a minute: RUNTIME-52. */
export class EndMarkTimer implements Disposable {
  readonly #clock: Clock
  /** Outlives the list: after its mark the stream goes on as a watch. */
  readonly #stream: AbortScope
  readonly #list: AbortScope
  #lastObjectAt: number | undefined

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#stream = new AbortScope(signal)
    this.#list = new AbortScope(this.#stream.signal)
  }

  /** Of the stream. */
  get signal(): AbortSignal {
    return this.#stream.signal
  }

  /** The server has begun to answer. */
  opened(): void {
    this.objectCame()
    detach('waiting for the end of a list', this.#run())
  }

  /** A new object, or more of one that is on its way. */
  objectCame(): void {
    this.#lastObjectAt = monotonic(this.#clock)
  }

  /** The list is complete. */
  marked(): void {
    this.#list.abort()
  }

  /** The server began to answer and the stream has ended or ends, but its mark has not come. */
  get isMissing(): boolean {
    return this.#lastObjectAt !== undefined && !this.#list.signal.aborted
  }

  async #run(): Promise<void> {
    const { signal } = this.#list
    while (!signal.aborted) {
      const rest = (this.#lastObjectAt ?? 0) + END_MARK_TIMEOUT_MS - monotonic(this.#clock)
      if (rest > 0) await this.#clock.sleep(rest, signal)
      else this.#stream.abort(new EndMarkMissingError())
    }
  }

  [Symbol.dispose](): void {
    this.#stream.abort()
  }
}
