import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '#operator/model/log.ts'
import { type Database, sqlState } from '../storage/database.ts'
import { type Change, LOCK_TIMEOUT, readChanges, readFloor, settledVersion } from './changes.ts'
import { POLL, type Wakeup } from './wakeup.ts'

/** One that is told of every change. */
export interface Subscriber {
  change(change: Change): void
  /** Changes were forgotten before this process read them: what it has told so far can't be continued. */
  lost(): void
}

/**
 * Reads the change table as it grows and hands every change to every subscriber once, in order of version.
 * One reader a process, however many watch: a change costs one query, not one per stream.
 *
 *   commit ─► wake ─► read after head ─┬─ next version is there ─► hand out, head + 1
 *                                      └─ a gap: a commit on its way, or an undone one
 *                                          ├─ look again a few times
 *                                          └─ settle: hold the writers' lock once; what is missing then never comes
 */
export interface Feed {
  /** The newest version that was handed out. */
  readonly head: number
  /** From now on the subscriber gets every change after `head`. Returns how to stop. */
  subscribe(subscriber: Subscriber): () => void
  /** Resolves when everything committed before the call was handed out. @throws when the database can't be read */
  catchUp(): Promise<void>
  close(): Promise<void>
}

const BATCH = 500
const LOOKS = 5
/** Milliseconds between looks at a gap; commits take about as long. */
const LOOK = 4

export const createFeed = async (database: Database, wakeup: Wakeup, log: Logger): Promise<Feed> => {
  const subscribers = new Set<Subscriber>()
  let head = await firstHead(database, log)
  /** Those who wait for a pass that begins after they asked. */
  let waiting: PromiseWithResolvers<void>[] = []
  let isClosed = false
  let isWanted = false
  let running: Promise<void> | undefined

  const handOut = (change: Change) => {
    head = change.version
    for (const subscriber of subscribers) subscriber.change(change)
  }

  /** Hands out what is next without a gap. @returns whether a gap stopped it */
  const drain = async (upTo?: number): Promise<'gap' | 'done'> => {
    for (;;) {
      const changes = await readChanges(database.kysely, {
        after: head,
        limit: BATCH,
        ...(upTo !== undefined && { upTo }),
      })
      // Looked at after the read: what was forgotten meanwhile is missing from it. Where nothing is left, no gap would tell.
      if ((upTo !== undefined || changes.length === 0) && (await readFloor(database.kysely)) > head) {
        if (upTo === undefined) return 'gap'
        for (const subscriber of subscribers) subscriber.lost()
      }
      for (const change of changes) {
        if (upTo === undefined && change.version !== head + 1) return 'gap'
        handOut(change)
      }
      if (changes.length < BATCH) return 'done'
    }
  }

  const advance = async (): Promise<void> => {
    for (let look = 1; look <= LOOKS; look += 1) {
      if ((await drain()) === 'done') return
      await delay(LOOK)
    }
    const settled = await settledVersion(database)
    await drain(settled)
    head = Math.max(head, settled)
  }

  const run = async (): Promise<void> => {
    while (isWanted && !isClosed) {
      isWanted = false
      const asking = waiting
      waiting = []
      try {
        await advance()
        for (const { resolve } of asking) resolve()
      } catch (error) {
        for (const { reject } of asking) reject(error)
        log.warn('changes can’t be read, trying again', {
          error: error instanceof Error ? error.message : String(error),
        })
        await delay(POLL)
        isWanted = true
      }
    }
  }
  const want = (): Promise<void> => {
    isWanted = true
    running ??= run().finally(() => {
      running = undefined
      if (isWanted && !isClosed) void want()
    })
    return running
  }

  const stopListening = wakeup.onWake(() => void want())
  const poll = setInterval(() => void want(), POLL)
  return {
    get head() {
      return head
    },
    subscribe: (subscriber) => {
      subscribers.add(subscriber)
      return () => subscribers.delete(subscriber)
    },
    catchUp: () => {
      // The pass under way may have read before the caller's commit: the one after it has not.
      const pass = Promise.withResolvers<void>()
      waiting.push(pass)
      void want()
      return pass.promise
    },
    close: async () => {
      isClosed = true
      clearInterval(poll)
      stopListening()
      await running
      for (const { resolve } of waiting) resolve()
    },
  }
}

const firstHead = async (database: Database, log: Logger): Promise<number> => {
  for (;;) {
    try {
      return await settledVersion(database)
    } catch (error) {
      if (sqlState(error) !== LOCK_TIMEOUT) throw error
      log.warn('a writer holds its transaction open, waiting for it to begin the streams')
    }
  }
}
