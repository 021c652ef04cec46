import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { forgetEvents } from '../events/forget.ts'
import { trimChanges } from '../feed/changes.ts'
import { timestampOf } from '../model/timestamp.ts'
import { purgeArchive } from './archive.ts'
import type { Database } from './database.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** For how long what is only needed for a while is kept, in milliseconds. */
export const KEEP = {
  /** How far back a watch can be resumed. */
  changes: HOUR,
  /** An event that nobody acknowledged in this time is about a state long gone; the Sentinel has asked again since. */
  events: 72 * HOUR,
  /** An event that everybody is done with. */
  finishedEvents: HOUR,
  statusLog: 7 * 24 * HOUR,
  /** Long enough to look into a deletion that went wrong. 0 keeps for ever. */
  archive: 720 * HOUR,
}

/** Milliseconds for each of these. */
export type Keep = Readonly<typeof KEEP>

/** Most changes that are kept, however young. */
const MOST_CHANGES = 100_000
/** Most events that are kept, however young: some hundred megabytes. */
const MOST_EVENTS = 500_000

/** Forgets what is older than it is kept. */
export const forgetOld = async (database: Database, now: Date, keep: Keep = KEEP): Promise<void> => {
  const before = (age: number) => timestampOf(new Date(now.getTime() - age))
  await trimChanges(database, { since: before(keep.changes), most: MOST_CHANGES })
  await forgetEvents(database, {
    before: before(keep.events),
    finishedBefore: before(keep.finishedEvents),
    most: MOST_EVENTS,
  })
  await database.kysely.deleteFrom('status_log').where('received_time', '<', before(keep.statusLog)).execute()
  if (keep.archive > 0) await purgeArchive(database.kysely, { before: before(keep.archive) })
}

/** Forgets old things every minute. Returns how to stop. */
export const startRetention = (
  database: Database,
  clock: Clock,
  log: Logger,
  keep: Keep = KEEP,
): (() => Promise<void>) => {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      await delay(MINUTE, undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      try {
        await forgetOld(database, clock.now(), keep)
      } catch (error) {
        log.warn('old data was not forgotten, trying again in a minute', {
          error: error instanceof Error ? error.message : String(error),
        })
      }
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}
