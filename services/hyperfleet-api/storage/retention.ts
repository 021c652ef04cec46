import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '#operator/model/log.ts'
import { deleteOldEvents } from '../events/retention.ts'
import { trimChanges } from '../feed/changes.ts'
import { timestampOf } from '../model/timestamp.ts'
import { purgeArchive } from './archive.ts'
import type { Database } from './database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** For how long what is only needed for a while is kept, in milliseconds. */
export const RETENTION_MS = {
  /** How far back a watch can be resumed. */
  changes: HOUR_MS,
  /** An event that was not acknowledged in this time is about a state long gone; the Sentinel has asked again since. */
  events: 72 * HOUR_MS,
  /** An event that all groups are done with. */
  finishedEvents: HOUR_MS,
  statusLog: 7 * 24 * HOUR_MS,
  /** Long enough to look into a deletion that went wrong. 0 keeps for ever. */
  archive: 720 * HOUR_MS,
}

/** Milliseconds for each of these. */
export type Retention = Readonly<typeof RETENTION_MS>

/** Most changes that are kept, however young. */
const MAX_CHANGES = 100_000
/** Most events that are kept, however young: some hundred megabytes. */
const MAX_EVENTS = 500_000

/** Forgets what is older than it is kept. */
export const deleteExpired = async (
  database: Database,
  now: Date,
  retention: Retention = RETENTION_MS,
): Promise<void> => {
  const before = (age: number) => timestampOf(new Date(now.getTime() - age))
  await trimChanges(database, { since: before(retention.changes), maxChanges: MAX_CHANGES })
  await deleteOldEvents(database, {
    before: before(retention.events),
    finishedBefore: before(retention.finishedEvents),
    maxEvents: MAX_EVENTS,
  })
  await database.kysely.deleteFrom('status_log').where('received_time', '<', before(retention.statusLog)).execute()
  if (retention.archive > 0) await purgeArchive(database.kysely, { before: before(retention.archive) })
}

/** Forgets old things every minute. @param now of the database's clock, which is that of what is old. Returns how to stop. */
export const startRetention = (
  database: Database,
  now: () => Date,
  log: Logger,
  retention: Retention = RETENTION_MS,
): (() => Promise<void>) => {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      await delay(MINUTE_MS, undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      try {
        await deleteExpired(database, now(), retention)
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
