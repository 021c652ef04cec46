import { type RawBuilder, sql } from 'kysely'
import { type Database, sqlState } from '../storage/database.ts'
import { CHANGE_LOCK } from '../storage/resource-write.ts'
import { readFloor } from './changes.ts'

/**
 * Versions count the changes of one history. A PostgreSQL that was promoted, restored or replaced goes on from what it
 * has: changes that were told may be gone, and their versions be given to others. It then has another origin than the one
 * noted beside the floor; the first replica that sees it raises the versions beyond all that were ever given out, and the floor
 * with them, so that every watcher begins anew and no version means two things (API-73).
 */

/** How far versions are raised: far more than a database makes in the time that a backup is old. */
const HISTORY_STEP = 1_000_000_000
/** Milliseconds that writers are waited for when a new history begins. */
const LOCK_TIMEOUT_MS = 5_000

/**
 * Server, timeline and database, as text; null while a standby follows another server. Every promotion and every restore
 * to a point in time begins a timeline.
 */
const ORIGIN: RawBuilder<string | null> = sql`case when pg_is_in_recovery() then null else
  (select system_identifier from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || '/' || (select oid from pg_database where datname = current_database()) end`

/** Databases whose server doesn't tell where its changes come from: a service that hides it, or a user without the right. */
const withoutOrigin = new WeakSet<Database['kysely']>()
/** undefined_function, insufficient_privilege, feature_not_supported */
const UNKNOWN_ORIGIN_CODES = new Set(['42883', '42501', '0A000'])

/** The floor of the history that the database has now, which is begun where it is another than before. */
export const readHistory = async (database: Database): Promise<number> => {
  const { kysely, dialect } = database
  if (dialect === 'sqlite' || withoutOrigin.has(kysely)) return readFloor(kysely)
  try {
    const { rows } = await sql<{
      version: number
      noted: string
      origin: string | null
    }>`select version, origin as noted, ${ORIGIN} as origin from change_floor`.execute(kysely)
    const [row] = rows
    if (row === undefined || row.origin === null || row.origin === row.noted) return row?.version ?? 0
    return await beginHistory(database)
  } catch (error) {
    if (!UNKNOWN_ORIGIN_CODES.has(sqlState(error) ?? '')) throw error
    withoutOrigin.add(kysely)
    return readFloor(kysely)
  }
}

/** @returns the floor. Only here all writers are waited for: a version from before must not be committed after. */
const beginHistory = async ({ kysely }: Database): Promise<number> =>
  kysely.transaction().execute(async (writer) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(writer)
    await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(writer)
    const { rows } = await sql<{
      version: number
      noted: string
      origin: string | null
      last: number
    }>`select version, origin as noted, ${ORIGIN} as origin,
        coalesce(pg_sequence_last_value(pg_get_serial_sequence('changes', 'version')), 0) as last
      from change_floor for update`.execute(writer)
    const [row] = rows
    if (row === undefined || row.origin === null || row.origin === row.noted) return row?.version ?? 0
    if (row.noted === '') {
      // Laid out just now, or by a version that did not note it.
      await writer.updateTable('change_floor').set({ origin: row.origin }).execute()
      return row.version
    }
    const floor = (Math.floor(Math.max(row.last, row.version) / HISTORY_STEP) + 1) * HISTORY_STEP
    await sql`select setval(pg_get_serial_sequence('changes', 'version'), ${floor}::bigint)`.execute(writer)
    await writer.updateTable('change_floor').set({ version: floor, origin: row.origin }).execute()
    await writer.deleteFrom('changes').where('version', '<=', floor).execute()
    return floor
  })
