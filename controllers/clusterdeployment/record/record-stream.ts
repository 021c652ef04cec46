/**
 * Follows the API's stream of registered clusters.
 *
 *   from nothing: everything as `added` ─► bookmark: that was all ─► changes as they come
 *   after a break: from the last version seen; from nothing again when the API has forgotten it (410)
 *   every SWEEP_EVERY: from nothing again, because an API that was put back to an earlier state may not know that a version is none of its
 */

import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import type { HyperFleetClient, WatchMessage } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { REGISTRATION } from '../labels.ts'
import { type Owner, RECORD_FIELDS, recordOf } from './record.ts'
import type { RecordCache } from './record-cache.ts'

export interface StreamOptions {
  readonly api: HyperFleetClient
  readonly records: RecordCache
  readonly clock: Clock
  readonly log: Logger
  /** Something about the record of this ClusterDeployment has changed. */
  onChange(owner: Owner): void
  /** The stream has begun or ceased to show what is true. */
  onAvailabilityChange(): void
}

/** Milliseconds after a stream that told nothing; one that broke off is taken up again after the first. */
const RECONNECT_DELAY: ExponentialBackoff = { initial: 500, factor: 2, max: 30_000 }
/** Milliseconds between looks at everything: the safety net under the stream, as the Sentinel has one. */
const SWEEP_INTERVAL_MS = 600_000

/** Runs until the signal aborts. */
export const followRecords = async (following: StreamOptions, signal: AbortSignal): Promise<void> => {
  const { clock, log, records } = following
  const stream = new Stream(following)
  let failures = 0
  while (!signal.aborted) {
    const trouble = await stream.read(signal)
    if (signal.aborted) return
    failures = stream.hasReceived ? 0 : failures + 1
    if (!stream.hasReceived) stream.markUnavailable(trouble)
    if (failures <= 1 && trouble !== undefined)
      log.warn('the stream of clusters broke off, it is opened again', { problem: trouble })
    await clock.sleep(exponentialDelay(RECONNECT_DELAY, failures + 1), signal)
  }
  records.outage = 'the manager is stopping'
}

class Stream {
  readonly #following: StreamOptions
  /** A watch from here misses nothing; undefined when it has to begin from nothing. */
  #version: string | undefined
  #sweptAt = 0
  /** The last reading told something. */
  hasReceived = false

  constructor(following: StreamOptions) {
    this.#following = following
  }

  /** Reads until the stream ends. @returns why it did, where that is a problem */
  async read(signal: AbortSignal): Promise<string | undefined> {
    const { api, records, clock } = this.#following
    this.hasReceived = false
    if (this.#version === undefined) {
      records.beginSweep()
      this.#sweptAt = monotonic(clock)
    }
    using turn = new AbortScope(signal)
    const rest = Math.max(0, this.#sweptAt + SWEEP_INTERVAL_MS - monotonic(clock))
    detach(
      'waiting for the next look at everything',
      clock.sleep(rest, turn.signal).then(() => turn.abort()),
    )
    const query = { labels: REGISTRATION, fields: RECORD_FIELDS, resourceVersion: this.#version }
    try {
      for await (const message of api.watch('clusters', query, turn.signal)) {
        this.hasReceived = true
        this.#take(message)
      }
      return this.hasReceived
        ? undefined
        : 'the API ended the stream without a word: is it one with Muster-Features: watch?'
    } catch (error) {
      if (signal.aborted) return undefined
      if (turn.signal.aborted) {
        // Ended by us, which is no trouble.
        this.hasReceived = true
        this.#version = undefined
        return undefined
      }
      if (!(error instanceof HyperFleetError)) throw error
      if (error.reason === 'WatchExpired') this.#version = undefined
      return error.message
    }
  }

  /** The API can't be followed. */
  markUnavailable(trouble: string | undefined): void {
    const { records, onAvailabilityChange } = this.#following
    const was = records.outage
    records.outage = trouble ?? was
    if (was === undefined) onAvailabilityChange()
  }

  #take({ type, object, resourceVersion }: WatchMessage): void {
    const { records, onChange } = this.#following
    switch (type) {
      case 'bookmark':
        this.#current()
        break
      case 'end':
        // The API says why; only a version that it has forgotten can't be gone on from.
        if ((object as { readonly reason?: unknown } | undefined)?.reason === 'ResourceVersionExpired')
          this.#version = undefined
        return
      case 'deleted': {
        const { id } = (object ?? {}) as { readonly id?: unknown }
        if (typeof id === 'string') records.forget(id).forEach(onChange)
        break
      }
      default: {
        const record = recordOf(object)
        if (record !== undefined) records.put(record).forEach(onChange)
      }
    }
    this.#version = resourceVersion ?? this.#version
  }

  #current(): void {
    const { records, onChange, onAvailabilityChange } = this.#following
    records.endSweep().forEach(onChange)
    if (records.outage === undefined) return
    records.outage = undefined
    onAvailabilityChange()
  }
}
