/**
 * Resources by the API's watch stream.
 *
 *   from nothing: everything as `added` ─► bookmark: that was all ─► changes as they come
 *   after a break: from the last version seen ─► what was missed ─► bookmark ─► changes as they come
 *
 * Every SWEEP_EVERY, and when the API has forgotten that version (410), it begins from nothing again (SENTINEL-25).
 */

import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { WatchMessage } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { type Listing, REQUESTED_FIELDS } from './list-pages.ts'
import { type Source, type SourceChange, SWEEP_INTERVAL_MS } from './source.ts'

/** An API that ends streams as soon as they begin is not asked in a tight loop. Milliseconds. */
const MIN_STREAM_MS = 1_000

export const watchSource = ({ listing, clock }: { readonly listing: Listing; readonly clock: Clock }): Source => {
  const { api, resourceType, selection } = listing
  let sweptAt = Number.NEGATIVE_INFINITY
  /** Everything up to here was told; undefined before the first look and after the API forgot it. */
  let version: string | undefined

  async function* stream(signal: AbortSignal): AsyncGenerator<SourceChange> {
    let sweeping = version === undefined
    if (sweeping) yield { kind: 'pollBegan', isSweep: true }
    const query = { labels: selection.labels, fields: REQUESTED_FIELDS, resourceVersion: version }
    for await (const message of api.watch(resourceType, query, signal)) {
      if (message.type === 'end') return handleEnd(message)
      const isBookmark = message.type === 'bookmark'
      if (isBookmark && sweeping) {
        sweeping = false
        sweptAt = clock.now().getTime()
        yield { kind: 'sweepEnded', isExact: true }
      } else yield isBookmark ? { kind: 'upToDate' } : toChange(message)
      version = message.resourceVersion ?? version
    }
  }

  /** The API says why it ends a stream; only a version that it has forgotten can't be gone on from. */
  const handleEnd = ({ object }: WatchMessage): void => {
    if ((object as { readonly reason?: unknown } | undefined)?.reason === 'ResourceVersionExpired') version = undefined
  }

  /** The stream until it is time for the next look at everything. */
  async function* streamUntilSweep(signal: AbortSignal): AsyncGenerator<SourceChange> {
    const begun = clock.now().getTime()
    const rest = version === undefined ? SWEEP_INTERVAL_MS : sweptAt + SWEEP_INTERVAL_MS - begun
    using untilSweep = new AbortScope(signal)
    detach(
      'waiting for the next look at everything',
      clock.sleep(rest, untilSweep.signal).then(() => untilSweep.abort()),
    )
    try {
      yield* stream(untilSweep.signal)
    } catch (error) {
      signal.throwIfAborted()
      if (untilSweep.signal.aborted) return
      if (!(error instanceof HyperFleetError && error.reason === 'WatchExpired')) throw error
      version = undefined
    }
    if (clock.now().getTime() - begun < MIN_STREAM_MS) await clock.sleep(MIN_STREAM_MS, signal)
  }

  return {
    kind: 'Watch',
    async *changes(signal) {
      for (;;) {
        signal.throwIfAborted()
        const age = clock.now().getTime() - sweptAt
        if (age >= SWEEP_INTERVAL_MS || age < 0) version = undefined
        yield* streamUntilSweep(signal)
      }
    },
  }
}

const toChange = ({ type, object }: WatchMessage): SourceChange => {
  const id = (object as { readonly id?: unknown } | undefined)?.id
  if (type === 'deleted' && typeof id === 'string') return { kind: 'deleted', id }
  return { kind: 'items', items: [object] }
}
