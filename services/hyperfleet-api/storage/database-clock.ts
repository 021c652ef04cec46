import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Clock, monotonic, systemClock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Database } from './database.ts'

/**
 * What time it is, the same for all replicas: PostgreSQL's clock, whatever theirs say (API-95). What is written bears this
 * time, and goes by it when it is old, so that a replica whose clock is off forgets nothing early. Where one process has the
 * database it is the process's clock.
 */
export interface DatabaseClock {
  now(): Date
  close(): Promise<void>
}

/** Between questions goes the process's count of milliseconds, which no setting of its clock moves. */
const SYNC_INTERVAL_MS = 30_000
/** An answer that took longer says too little about when it was given. */
const MAX_ROUND_TRIP_MS = 1_000

/** @throws when PostgreSQL does not answer */
export const openDatabaseClock = async (
  { dialect, kysely }: Pick<Database, 'dialect' | 'kysely'>,
  clock: Clock,
  log: Pick<Logger, 'debug'>,
): Promise<DatabaseClock> => {
  // A test that moves the clock moves it for the database too.
  if (dialect === 'sqlite' || clock !== systemClock) return { now: () => clock.now(), close: async () => {} }
  /** Milliseconds from the process's count to the time of the database. */
  let offset: number | undefined
  const sync = async (): Promise<void> => {
    const asked = monotonic(clock)
    const { rows } = await sql<{ milliseconds: number }>`select
      extract(epoch from clock_timestamp())::double precision * 1000 as milliseconds`.execute(kysely)
    const answered = monotonic(clock)
    if (offset !== undefined && answered - asked > MAX_ROUND_TRIP_MS) return
    offset = (rows[0]?.milliseconds ?? 0) - (asked + answered) / 2
  }
  await sync()
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      await delay(SYNC_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => undefined)
      if (stop.signal.aborted) return
      await sync().catch((error: unknown) =>
        log.debug('the time of the database is as before', { error: String(error) }),
      )
    }
  }
  const running = run()
  return {
    now: () => new Date(monotonic(clock) + (offset ?? 0)),
    close: async () => {
      stop.abort()
      await running
    },
  }
}
