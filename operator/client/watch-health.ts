import type { Logger } from '../model/log.ts'
import { describe, type WatchFailure } from './watch.ts'

export interface WatchHealthOptions {
  /** Called whenever the server is heard or asked, for liveness checks. */
  readonly beat?: (() => void) | undefined
  /** Told about every failure, and `undefined` when the server is heard again after one. Without it failures are logged. */
  readonly onHealth?: ((failure: WatchFailure | undefined) => void) | undefined
  readonly log: Logger
}

/** Tells whether a watch works: those who ask for it, or the log. */
export class WatchHealth {
  readonly #options: WatchHealthOptions
  #isFailing = false

  constructor(options: WatchHealthOptions) {
    this.#options = options
  }

  beat(): void {
    this.#options.beat?.()
  }

  /** The server has answered. */
  heard(): void {
    this.beat()
    if (this.#isFailing) this.#report(undefined)
    this.#isFailing = false
  }

  /** @param fields for the log line */
  failed(failure: WatchFailure, fields: { readonly phase: string; readonly delay: number }): void {
    this.#isFailing = true
    this.#report(failure)
    if (this.#options.onHealth !== undefined) return
    const [level, message] = describe(failure)
    this.#options.log[level](message, fields)
  }

  #report(failure: WatchFailure | undefined): void {
    try {
      this.#options.onHealth?.(failure)
    } catch (error) {
      this.#options.log.error('a watch health handler threw, the watch goes on', { err: error })
    }
  }
}
