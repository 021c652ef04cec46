import type { Database } from '../storage/database.ts'
import { groupByBytes, PORTION_BYTES, readPortions } from '../storage/portions.ts'
import type { Room } from '../storage/room.ts'
import { type Change, readChangeLengths, readChanges } from './changes.ts'
import type { Feed } from './feed.ts'
import { readFloorFor } from './history.ts'
import { formatChange, formatMessage, messageType, projectDocument, type Subscription } from './watch-message.ts'

/** Where a stream's bytes go. */
export interface Sink {
  /** @returns how many bytes wait for the reader */
  write(bytes: string | Buffer): number
  /** Resolves when the reader has taken all that was written, or the signal aborts. */
  drained(): Promise<void>
  /** Aborted when the reader is gone, its token is no longer taken, or the server stops. */
  readonly signal: AbortSignal
}

/** Why a stream was ended by the server; the data of its last message. */
export type EndReason = 'SlowConsumer' | 'ResourceVersionExpired' | 'ServerStopping' | 'TokenExpired'

/** Changes of which only the lengths are read at a time. */
const LENGTHS_READ = 200
/** A reader that leaves so many bytes waiting is cut off: it would grow this process instead of resuming. */
export const SLOW_CONSUMER_BYTES = 1024 * 1024
/** Milliseconds between bookmarks on a quiet stream. */
export const BOOKMARK_INTERVAL_MS = 15_000

/** What a watch reads from. */
export interface WatchSources {
  readonly database: Database
  readonly feed: Feed
  readonly room: Room
}

/**
 * Runs one watch stream until the reader or the server ends it (API-38, API-41).
 *
 *   from a version:  changes since then ─► bookmark ─► changes as they come
 *   from nothing:    everything as `added` ─► bookmark ─► changes as they come
 *
 * A bookmark says: you have seen everything up to here. Messages of the first state carry no position, since a reader
 * cut off among them has to begin anew.
 */
export const watch = async (
  { database, feed, room }: WatchSources,
  subscription: Subscription,
  from: number | undefined,
  sink: Sink,
): Promise<EndReason | undefined> => {
  let cursor = from ?? feed.head
  const takeRoom = (bytes: number) => room.take(bytes, sink.signal)
  try {
    if (from === undefined) {
      const { kind, ownerId, tenancy, selector } = subscription
      const filter = { kind, tenancy, ...(ownerId !== undefined && { ownerId }), labels: selector }
      const list = { filter, order: [{ column: 'id', direction: 'asc' }] as const }
      for await (const documents of readPortions(database, list, takeRoom)) {
        for (const document of documents)
          sink.write(formatMessage('added', undefined, projectDocument(document, subscription.projection)))
        await sink.drained()
        sink.signal.throwIfAborted()
      }
    }
    while (cursor < feed.head) {
      const range = { after: cursor, upTo: feed.head, kind: subscription.kind, limit: LENGTHS_READ }
      const lengths = await readChangeLengths(database.kysely, range)
      for (const portion of groupByBytes(lengths, PORTION_BYTES)) {
        const end = portion.at(-1)?.version ?? range.upTo
        const giveBack = await takeRoom(portion.reduce((sum, { bytes }) => sum + bytes, 0))
        try {
          const changes = await readChanges(database.kysely, { ...range, after: cursor, upTo: end })
          if (cursor < (await readFloorFor(database.kysely, cursor))) return 'ResourceVersionExpired'
          for (const change of changes) {
            const bytes = formatFor(change, subscription)
            if (bytes !== undefined) sink.write(bytes)
          }
          await sink.drained()
          sink.signal.throwIfAborted()
        } finally {
          giveBack()
        }
        cursor = end
      }
      if (lengths.length === LENGTHS_READ) continue
      // Looked at after the read: what was forgotten meanwhile is missing from it.
      if (cursor < (await readFloorFor(database.kysely, cursor))) return 'ResourceVersionExpired'
      cursor = range.upTo
    }
  } catch (error) {
    if (sink.signal.aborted) return undefined
    throw error
  }
  return sendLive(feed, subscription, sink)
}

/** From here on nothing is awaited between reading the head and subscribing, so no change falls in between. */
const sendLive = (feed: Feed, subscription: Subscription, sink: Sink): Promise<EndReason | undefined> =>
  new Promise((resolve) => {
    const end = (reason: EndReason | undefined) => {
      unsubscribe()
      clearInterval(bookmarks)
      resolve(reason)
    }
    const write = (bytes: string | Buffer) => {
      if (sink.write(bytes) > SLOW_CONSUMER_BYTES) end('SlowConsumer')
    }
    const bookmark = () => write(formatMessage('bookmark', feed.head, '{}'))
    const unsubscribe = feed.subscribe({
      change: (change) => {
        const bytes = formatFor(change, subscription)
        if (bytes !== undefined) write(bytes)
      },
      changesLost: () => end('ResourceVersionExpired'),
    })
    const bookmarks = setInterval(bookmark, BOOKMARK_INTERVAL_MS)
    bookmark()
    sink.signal.addEventListener('abort', () => end(undefined), { once: true })
    if (sink.signal.aborted) end(undefined)
  })

const formatFor = (change: Change, subscription: Subscription): Buffer | undefined => {
  const type = messageType(change, subscription)
  return type === undefined ? undefined : formatChange(change, type, subscription)
}
