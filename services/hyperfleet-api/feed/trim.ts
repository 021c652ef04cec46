import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { timestampOf } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import { trimChanges } from './changes.ts'

const MINUTE = 60_000
/** For how long a watch can be resumed: milliseconds, and changes at most. */
const KEEP = 60 * MINUTE
const MOST = 100_000

/** Forgets old changes every minute. Returns how to stop. */
export const startTrimming = (database: Database, clock: Clock, log: Logger): (() => Promise<void>) => {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await delay(MINUTE, undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      try {
        await trimChanges(database, { since: timestampOf(new Date(clock.now().getTime() - KEEP)), most: MOST })
      } catch (error) {
        log.warn('old changes were not forgotten, trying again in a minute', {
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
