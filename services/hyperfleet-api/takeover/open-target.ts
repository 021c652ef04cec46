import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { openDatabase } from '../storage/database.ts'
import { refuseForeignLayout } from '../storage/layout/foreign-layout.ts'
import type { Tables } from '../storage/schema.ts'
import { readOnlySqlite } from '../storage/sqlite.ts'
import { formatSessions, otherSessions, TAKEOVER_NAME } from './sessions.ts'
import type { Target } from './take-over.ts'
import { TakeoverError } from './takeover-error.ts'

/** Where records go: PostgreSQL, or the folder of an embedded database, as `muster api` is given them. */
export type TargetPlace = { readonly databaseUrl: string } | { readonly dataDir: string }

export type OpenTarget = Target & { close(): Promise<void> }

/**
 * Opens the target, and lays out its tables where it isn't a dry run.
 * @throws TakeoverError, ForeignLayoutError, LayoutError, or the database's error
 */
export const openTarget = async (place: TargetPlace, isDryRun: boolean): Promise<OpenTarget> => {
  if ('databaseUrl' in place) await refuseRunningApi(place.databaseUrl)
  if (isDryRun) return openForReading(place)
  const database = await openDatabase({ ...place, onError: () => {} })
  return { database, isDryRun, close: () => database.close() }
}

/** What `muster api` connects under, and a takeover that writes. */
const API_NAME = 'muster-api'
/** PostgreSQL takes a moment to see that a process was killed; in milliseconds. */
const PATIENCE_MS = 5_000

/** An API would remove a parent in deletion whose children are still to come. The embedded database has a lock for it. */
const refuseRunningApi = async (databaseUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: TAKEOVER_NAME })
  client.on('error', () => {})
  await client.connect()
  try {
    for (const deadline = performance.now() + PATIENCE_MS; ; await delay(100)) {
      const running = (await otherSessions(client)).filter(({ name }) => name === API_NAME)
      if (running.length === 0) return
      if (performance.now() > deadline)
        throw new TakeoverError(`it is in use (${formatSessions(running)}): stop muster api until this is done`)
    }
  } finally {
    await client.end()
  }
}

const openForReading = async (place: TargetPlace): Promise<OpenTarget> => {
  const dialect =
    'databaseUrl' in place
      ? new PostgresDialect({
          pool: new pg.Pool({
            connectionString: place.databaseUrl,
            application_name: TAKEOVER_NAME,
            max: 1,
            options: '-c default_transaction_read_only=on',
          }),
        })
      : readOnlySqlite(place.dataDir)
  if (dialect === undefined) return { reader: undefined, isDryRun: true, close: () => Promise.resolve() }
  const kysely = new Kysely<Tables>({ dialect })
  try {
    if ('databaseUrl' in place) await refuseForeignLayout(kysely as unknown as Kysely<unknown>)
    const has = 'databaseUrl' in place ? hasPostgresTable : hasSqliteTable
    const isLaidOut = await has(kysely, 'resources')
    if (isLaidOut && !(await has(kysely, 'takeovers')))
      throw new TakeoverError(
        'it was laid out by an older version: start muster api of this version on it once, and stop it',
      )
    return { reader: isLaidOut ? kysely : undefined, isDryRun: true, close: () => kysely.destroy() }
  } catch (error) {
    await kysely.destroy()
    throw error
  }
}

const hasPostgresTable = async (kysely: Kysely<Tables>, table: string): Promise<boolean> => {
  const { rows } = await sql<{ isThere: boolean }>`select to_regclass(${table}) is not null as "isThere"`.execute(
    kysely,
  )
  return rows[0]?.isThere === true
}

const hasSqliteTable = async (kysely: Kysely<Tables>, table: string): Promise<boolean> => {
  const { rows } = await sql`select 1 from sqlite_schema where type = 'table' and name = ${table}`.execute(kysely)
  return rows.length > 0
}
