import type { Database } from '../storage/database.ts'
import { groupByBytes, PORTION_BYTES, readPortions } from '../storage/portions.ts'
import type { Room } from '../storage/room.ts'
import { readChangeLengths, readChanges } from './changes.ts'
import type { Feed } from './feed.ts'
import { readFloorFor } from './history.ts'
import type { LiveMessages, LiveWriter } from './live-messages.ts'
import type { Sink } from './sink.ts'
import { formatChange, formatMessage, messageType, projectDocument, type Subscription } from './watch-message.ts'

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
  readonly live: LiveMessages
}

/**
 * Runs one watch stream until the reader or the server ends it (API-38, API-41).
 *
 *   from a version:  changes since then ─► bookmark ─► changes as they come
 *   from nothing:    everything as `added` ─► bookmark ─► changes as they come
 *   without room for a change that comes:  what waits is taken ─► changes since then ─► bookmark ─► changes as they come
 *
 * A bookmark says: you have seen everything up to here. Messages of the first state carry no position, since a reader
 * cut off among them has to begin anew.
 */
export const watch = async (
  sources: WatchSources,
  subscription: Subscription,
  from: number | undefined,
  sink: Sink,
): Promise<EndReason | undefined> => {
  const { feed, live } = sources
  const writer = live.writer(sink)
  let cursor = from ?? feed.head
  try {
    if (from === undefined) await sendState(sources, subscription, sink)
    for (;;) {
      const reached = await sendChangesSince(cursor, sources, subscription, sink)
      if (typeof reached === 'string') return reached
      cursor = reached
      // Its answer came a moment after its last look: a change in between is no one's yet.
      if (cursor < feed.head) continue
      const { end, toldUpTo } = await sendLive(feed, subscription, writer, sink)
      if (toldUpTo === undefined) return end
      cursor = toldUpTo
      await sink.drained()
    }
  } catch (error) {
    if (sink.signal.aborted) return undefined
    throw error
  }
}

const sendState = async (
  { database, room }: WatchSources,
  { kind, ownerId, tenancy, selector, projection }: Subscription,
  sink: Sink,
): Promise<void> => {
  const filter = { kind, tenancy, ...(ownerId !== undefined && { ownerId }), labels: selector }
  const list = { filter, order: [{ column: 'id', direction: 'asc' }] as const }
  for await (const documents of readPortions(database, list, (bytes) => room.take(bytes, sink))) {
    for (const document of documents)
      sink.write(formatMessage('added', undefined, projectDocument(document, projection)))
    await sink.drained()
    sink.signal.throwIfAborted()
  }
}

/** @returns the version up to which all is told, which is the feed's head */
const sendChangesSince = async (
  version: number,
  { database, feed, room }: WatchSources,
  subscription: Subscription,
  sink: Sink,
): Promise<number | EndReason> => {
  let cursor = version
  while (cursor < feed.head) {
    const range = { after: cursor, upTo: feed.head, kind: subscription.kind, limit: LENGTHS_READ }
    const lengths = await readChangeLengths(database.kysely, range)
    for (const portion of groupByBytes(lengths, PORTION_BYTES)) {
      const end = portion.at(-1)?.version ?? range.upTo
      const giveBack = await room.take(
        portion.reduce((sum, { bytes }) => sum + bytes, 0),
        sink,
      )
      try {
        const changes = await readChanges(database.kysely, { ...range, after: cursor, upTo: end })
        if (cursor < (await readFloorFor(database.kysely, cursor))) return 'ResourceVersionExpired'
        for (const change of changes) {
          const type = messageType(change, subscription)
          if (type !== undefined) sink.write(formatChange(change, type, subscription))
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
  return cursor
}

/** How following changes as they come has ended. */
interface LiveEnd {
  readonly end?: EndReason
  /** There was no room for the change after this version. */
  readonly toldUpTo?: number
}

/** From here on nothing is awaited between reading the head and subscribing, so no change falls in between. */
const sendLive = (feed: Feed, subscription: Subscription, writer: LiveWriter, sink: Sink): Promise<LiveEnd> =>
  new Promise((resolve) => {
    const stop = (ended: LiveEnd) => {
      unsubscribe()
      clearInterval(bookmarks)
      sink.signal.removeEventListener('abort', leave)
      resolve(ended)
    }
    const leave = () => stop({})
    const endIfSlow = (waiting: number) => {
      if (waiting > SLOW_CONSUMER_BYTES) stop({ end: 'SlowConsumer' })
    }
    const bookmark = () => endIfSlow(sink.write(formatMessage('bookmark', subscription.position(feed.head), '{}')))
    const unsubscribe = feed.subscribe({
      change: (change) => {
        const type = messageType(change, subscription)
        if (type === undefined) return
        const waiting = writer.write(change, type, subscription)
        if (waiting === undefined) stop({ toldUpTo: change.version - 1 })
        else endIfSlow(waiting)
      },
      changesLost: () => stop({ end: 'ResourceVersionExpired' }),
    })
    const bookmarks = setInterval(bookmark, BOOKMARK_INTERVAL_MS)
    bookmark()
    sink.signal.addEventListener('abort', leave, { once: true })
    if (sink.signal.aborted) leave()
  })
