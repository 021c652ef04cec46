/**
 * Resources by the API's watch stream.
 *
 *   from nothing: everything as `added` ─► bookmark: that was all ─► changes as they come
 *   after a break: from the last version seen ─► what was missed ─► bookmark ─► changes as they come
 *
 * Every SWEEP_EVERY, and when the API has forgotten that version (410), it begins from nothing again.
 */

import type { Clock } from '#operator/model/clock.ts'
import type { WatchMessage } from '#services/hyperfleet-api/client/client.ts'
import { HyperFleetError } from '#services/hyperfleet-api/client/error.ts'
import { FIELDS, type Listing } from './pages.ts'
import { type Change, type Source, SWEEP_EVERY } from './source.ts'

/** An API that ends streams as soon as they begin is not asked in a tight loop. Milliseconds. */
const SHORTEST_STREAM = 1_000

export const watch = ({ listing, clock }: { readonly listing: Listing; readonly clock: Clock }): Source => {
  const { api, resourceType, selection } = listing
  let sweptAt = Number.NEGATIVE_INFINITY
  /** Everything up to here was told; undefined before the first look and after the API forgot it. */
  let version: string | undefined

  async function* stream(signal: AbortSignal): AsyncGenerator<Change> {
    let sweeping = version === undefined
    if (sweeping) yield { kind: 'look', whole: true }
    const query = { labels: selection.labels, fields: FIELDS, resourceVersion: version }
    for await (const message of api.watch(resourceType, query, signal)) {
      if (message.type === 'end') return ended(message)
      const isBookmark = message.type === 'bookmark'
      if (isBookmark && sweeping) {
        sweeping = false
        sweptAt = clock.now().getTime()
        yield { kind: 'swept', exact: true }
      } else yield isBookmark ? { kind: 'current' } : changeOf(message)
      version = message.resourceVersion ?? version
    }
  }

  /** The API says why it ends a stream; only a version that it has forgotten can't be gone on from. */
  const ended = ({ object }: WatchMessage): void => {
    if ((object as { readonly reason?: unknown } | undefined)?.reason === 'ResourceVersionExpired') version = undefined
  }

  /** The stream until it is time for the next look at everything. */
  async function* streamForAWhile(signal: AbortSignal): AsyncGenerator<Change> {
    const turn = new AbortController()
    const begun = clock.now().getTime()
    const rest = version === undefined ? SWEEP_EVERY : sweptAt + SWEEP_EVERY - begun
    const over = AbortSignal.any([signal, turn.signal])
    void clock.sleep(rest, over).then(() => turn.abort())
    try {
      yield* stream(over)
    } catch (error) {
      signal.throwIfAborted()
      if (turn.signal.aborted) return
      if (!(error instanceof HyperFleetError && error.reason === 'WatchExpired')) throw error
      version = undefined
    } finally {
      turn.abort()
    }
    if (clock.now().getTime() - begun < SHORTEST_STREAM) await clock.sleep(SHORTEST_STREAM, signal)
  }

  return {
    kind: 'Watch',
    async *changes(signal) {
      for (;;) {
        signal.throwIfAborted()
        const age = clock.now().getTime() - sweptAt
        if (age >= SWEEP_EVERY || age < 0) version = undefined
        yield* streamForAWhile(signal)
      }
    },
  }
}

const changeOf = ({ type, object }: WatchMessage): Change => {
  const id = (object as { readonly id?: unknown } | undefined)?.id
  if (type === 'deleted' && typeof id === 'string') return { kind: 'gone', id }
  return { kind: 'items', items: [object] }
}
