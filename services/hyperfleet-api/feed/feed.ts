import { setTimeout as delay } from 'node:timers/promises'
import { detach } from '#lib/process/detach.ts'
import type { Logger } from '#operator/model/log.ts'
import { Problem } from '../problems/problem.ts'
import type { ChangeSource } from './change-source.ts'
import type { Change } from './changes.ts'
import { POLL_INTERVAL_MS, type Wakeup } from './wakeup.ts'

/** One that is told of every change. */
export interface Subscriber {
  change(change: Change): void
  /** Changes were forgotten before this process read them: what it has told so far can't be continued. */
  changesLost(): void
}

/**
 * Reads the change table as it grows and hands every change to every subscriber once, in order of version (API-40).
 * One reader a process, however many watch: a change costs one query, not one per stream; and while none watches, no document
 * is read (API-151).
 *
 *   commit ─► wake ─► read after head ─┬─ next version is there ─► hand out, head + 1
 *                                      └─ a gap: a commit on its way, or an undone one
 *                                          └─ stable version: wait for those who write now; what is missing then never comes
 *
 * A database that goes on from an earlier state, after a failover that lost commits, has a floor above what was handed out
 * and is gone (feed/history.ts): `changesLost`. Each read brings it along, for versions may follow each other without a gap
 * although they are another history's (API-98).
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

export const createFeed = async (source: ChangeSource, wakeup: Pick<Wakeup, 'onWake'>, log: Logger): Promise<Feed> => {
  const subscribers = new Set<Subscriber>()
  let head = await readFirstHead(source, log)
  /** Callers that wait for a pass that begins after they asked. */
  let waiting: PromiseWithResolvers<void>[] = []
  let isClosed = false
  let isRequested = false
  let running: Promise<void> | undefined

  /** Where the last loss ended: no change up to it is to come. */
  let lostUpTo = 0

  /** Hands out what is next without a gap. @returns whether a gap stopped it */
  const publishNew = async (upTo?: number): Promise<'gap' | 'done'> => {
    for (;;) {
      const range = { after: head, ...(upTo !== undefined && { upTo }) }
      const isHeard = subscribers.size > 0
      const { changes, isLast, floor } = await (isHeard ? source.read(range) : source.readVersions(range))
      // One that came meanwhile is to be told of them.
      if (!isHeard && subscribers.size > 0) continue
      if (floor > head) {
        if (upTo === undefined) return 'gap'
        lostUpTo = floor
        for (const subscriber of subscribers) subscriber.changesLost()
      }
      for (const change of changes) {
        if (upTo === undefined && change.version !== head + 1) return 'gap'
        head = change.version
        if (change.document !== undefined) for (const subscriber of subscribers) subscriber.change(change)
      }
      if (isLast) return 'done'
    }
  }

  const advanceHead = async (): Promise<void> => {
    while ((await publishNew()) === 'gap') {
      const stable = await source.stableVersion()
      await publishNew(stable)
      head = Math.max(head, stable, lostUpTo)
    }
  }

  const run = async (): Promise<void> => {
    while (isRequested && !isClosed) {
      isRequested = false
      const requested = waiting
      waiting = []
      try {
        await advanceHead()
        for (const { resolve } of requested) resolve()
      } catch (error) {
        for (const { reject } of requested) reject(error)
        log.warn('changes can’t be read, trying again', {
          error: error instanceof Error ? error.message : String(error),
        })
        await delay(POLL_INTERVAL_MS)
        isRequested = true
      }
    }
  }
  const requestRun = (): Promise<void> => {
    isRequested = true
    running ??= run().finally(() => {
      running = undefined
      if (isRequested && !isClosed) lookForChanges()
    })
    return running
  }

  const lookForChanges = () => detach('reading changes', requestRun())

  const stopListening = wakeup.onWake('changes', lookForChanges)
  const poll = setInterval(lookForChanges, POLL_INTERVAL_MS)
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
      lookForChanges()
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

const readFirstHead = async (source: ChangeSource, log: Logger): Promise<number> => {
  for (;;) {
    try {
      const { floor } = await source.readVersions({ after: 0, upTo: 0 })
      return Math.max(floor, await source.stableVersion())
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      log.warn('streams can’t begin yet, trying again', { error: error.message })
    }
  }
}
