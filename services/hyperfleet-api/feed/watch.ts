import type { Database } from '../storage/database.ts'
import { listDocuments } from '../storage/list.ts'
import { parseDocument } from '../storage/resources.ts'
import { type Change, readChanges, readFloor } from './changes.ts'
import type { Feed } from './feed.ts'
import { formatChange, formatMessage, messageType, projectDocument, type Subscription } from './watch-message.ts'

/** Where a stream's bytes go. */
export interface Sink {
  /** @returns how many bytes wait for the reader */
  write(bytes: string | Buffer): number
  /** Resolves when the reader has taken what was written. */
  drained(): Promise<void>
  /** Aborted when the reader is gone, its token is no longer taken, or the server stops. */
  readonly signal: AbortSignal
}

/** Why a stream was ended by the server; the data of its last message. */
export type EndReason = 'SlowConsumer' | 'ResourceVersionExpired' | 'ServerStopping' | 'TokenExpired'

const PAGE_SIZE = 100
/** A reader that leaves so many bytes waiting is cut off: it would grow this process instead of resuming. */
export const SLOW_CONSUMER_BYTES = 1024 * 1024
/** Milliseconds between bookmarks on a quiet stream. */
export const BOOKMARK_INTERVAL_MS = 15_000

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
  { database, feed }: { readonly database: Database; readonly feed: Feed },
  subscription: Subscription,
  from: number | undefined,
  sink: Sink,
): Promise<EndReason | undefined> => {
  let cursor = from ?? feed.head
  const send = async (bytes: string | Buffer): Promise<void> => {
    if (sink.write(bytes) > 0) await sink.drained()
  }
  if (from === undefined) {
    for await (const document of listAll(database, subscription)) {
      if (sink.signal.aborted) return undefined
      await send(formatMessage('added', undefined, projectDocument(document, subscription.projection)))
    }
  }
  while (cursor < feed.head) {
    const upTo = feed.head
    const changes = await readChanges(database.kysely, {
      after: cursor,
      upTo,
      kind: subscription.kind,
      limit: PAGE_SIZE,
    })
    if (cursor < (await readFloor(database.kysely))) return 'ResourceVersionExpired'
    for (const change of changes) {
      if (sink.signal.aborted) return undefined
      const bytes = formatFor(change, subscription)
      if (bytes !== undefined) await send(bytes)
    }
    const last = changes.at(-1)
    cursor = changes.length === PAGE_SIZE && last !== undefined ? last.version : upTo
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

/** Every resource of the selection now, page by page in the order of ids. */
async function* listAll(
  database: Database,
  { kind, ownerId, tenancy, selector }: Subscription,
): AsyncGenerator<string> {
  const filter = { kind, tenancy, ...(ownerId !== undefined && { ownerId }), labels: selector }
  for (let after = ''; ; ) {
    const documents = await listDocuments(database, { filter, order: [], size: PAGE_SIZE, from: { after } })
    yield* documents
    const last = documents.at(-1)
    if (documents.length < PAGE_SIZE || last === undefined) return
    after = parseDocument(last).id
  }
}
