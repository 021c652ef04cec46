/** Reads a shard from the API for as long as it runs: connects, follows the source, and begins again after a failure. */

import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { HyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import type { SentinelSettings } from '../settings.ts'
import { type Connection, type ConnectionOptions, openConnection } from '../source/connection.ts'
import type { SourceChange } from '../source/source.ts'

/** How long to wait before the spec is read again while none can be run, in milliseconds (SENTINEL-6). */
export const SPEC_RETRY_DELAY_MS = 30_000

const CLOSING = 'closing the connection to the HyperFleet API'

export interface ResourceReaderOptions extends ConnectionOptions {
  /** What to read; undefined while there is nothing to read: no valid spec, or no slot yet. */
  settings(): SentinelSettings | undefined
  connect(settings: SentinelSettings): HyperFleetClient
  change(change: SourceChange): void
  /** Resources could not be fetched. */
  failed(): void
  readonly clock: Clock
  readonly log: Logger
}

export class ResourceReader {
  readonly #options: ResourceReaderOptions
  #connection: Connection | undefined
  #failure: HyperFleetError | undefined
  /** Ends the reading under way, to begin anew with another spec or partition. */
  #reading = new AbortController()

  constructor(options: ResourceReaderOptions) {
    this.#options = options
  }

  /** Undefined before the API answered. */
  get connection(): Connection | undefined {
    return this.#connection
  }

  /** What the last request for resources failed with; undefined when it worked. */
  get failure(): HyperFleetError | undefined {
    return this.#failure
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options
    while (!signal.aborted) {
      using reading = new AbortScope(signal, this.#reading.signal)
      const { signal: both } = reading
      const current = settings()
      if (current !== undefined) await clock.sleep(await this.#read(current, both), both)
      else await clock.sleep(SPEC_RETRY_DELAY_MS, both)
    }
  }

  /** Reads from the start, with a new connection. */
  restart(): void {
    const reading = this.#reading
    this.#reading = new AbortController()
    detach(CLOSING, this.disconnect())
    reading.abort()
  }

  /** The source has told everything up to now. */
  succeeded(): void {
    if (this.#failure !== undefined) this.#options.log.info('sentinel: the API answers again')
    this.#failure = undefined
  }

  /** Gives the connection up; resolves when what is under way on it has ended. */
  async disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.api.close()
  }

  /** Reads until it fails or is ended; returns how long to wait before the next try, in milliseconds. */
  async #read(settings: SentinelSettings, signal: AbortSignal): Promise<number> {
    const { connect, change, pollInterval } = this.#options
    try {
      this.#connection ??= await openConnection(connect(settings), settings, this.#options, signal)
      for await (const one of this.#connection.source.changes(signal)) {
        signal.throwIfAborted()
        change(one)
      }
      return 0
    } catch (error) {
      if (signal.aborted) return 0
      if (!(error instanceof HyperFleetError)) throw error
      const delay = error.retryAfter ?? pollInterval()
      this.#fail(error, delay)
      return delay
    }
  }

  #fail(error: HyperFleetError, delay: number): void {
    if (this.#failure?.message !== error.message)
      this.#options.log.warn(`sentinel: resources could not be fetched, retrying in ${delay / 1_000} s`, {
        reason: error.reason,
        problem: error.message,
      })
    this.#failure = error
    this.#options.failed()
    // A stream goes on where it broke off; anything else asks anew what the API can do.
    const resumes = this.#connection?.source.kind === 'Watch' && error.status === undefined
    if (!resumes) detach(CLOSING, this.disconnect())
  }
}
