import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { trimChanges } from '../feed/changes.ts'
import { timestampOf } from '../model/timestamp.ts'
import type { Database } from './database.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** For how long what is only needed for a while is kept, in milliseconds. */
export const KEEP = {
  /** How far back a watch can be resumed. */
  changes: HOUR,
  /** An event that nobody acknowledged in this time is about a state long gone; the Sentinel has asked again since. */
  events: 72 * HOUR,
  statusLog: 7 * 24 * HOUR,
} as const

/** Most changes that are kept, however young. */
const MOST_CHANGES = 100_000

/** Forgets what is older than it is kept. */
export const forgetOld = async (database: Database, now: Date): Promise<void> => {
  const before = (keep: number) => timestampOf(new Date(now.getTime() - keep))
  await trimChanges(database, { since: before(KEEP.changes), most: MOST_CHANGES })
  await database.kysely.deleteFrom('events').where('time', '<', before(KEEP.events)).execute()
  await database.kysely.deleteFrom('status_log').where('received_time', '<', before(KEEP.statusLog)).execute()
}

/** Forgets old things every minute. Returns how to stop. */
export const startRetention = (database: Database, clock: Clock, log: Logger): (() => Promise<void>) => {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      await delay(MINUTE, undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      try {
        await forgetOld(database, clock.now())
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
