import { type RawBuilder, sql } from 'kysely'
import type { Reader } from '../storage/dialect.ts'

/** Whether PostgreSQL goes on with the history that was noted last. */
export type Origin = 'same' | 'another run' | 'other tables'

export interface OriginRow {
  readonly isSameTables: boolean | null
  readonly isSameRun: boolean | null
  readonly goesOn: boolean | null
}

/** A server that was promoted, restored to another time, replaced, or put back with its volume was started since. */
export const RUN: RawBuilder<string> = sql`extract(epoch from pg_postmaster_start_time())::text`
/**
 * Tables that were dropped and made anew are others. What restores rows alone is seen by the mark, the transaction that wrote
 * the row of the mark: a row that is read from a dump is written by another. Copies of a server's files keep both.
 */
export const TABLES: RawBuilder<string> = sql`(select oid from pg_database where datname = current_database()) || '/' ||
  'changes'::regclass::oid`
/** The version that was given out last; another session's, and one of a transaction that is undone too. */
export const LAST_VERSION: RawBuilder<number> = sql`coalesce(
  pg_sequence_last_value(pg_get_serial_sequence('changes', 'version')), 0)`

/**
 * Of all rows, since there are more than one for a moment while tables are restored. Versions go on above all that are
 * there, were there or were told up to a position: pg_restore loads the rows first and puts the sequence back at its end.
 */
export const originColumns = (position: number): RawBuilder<unknown> => sql`
  (select bool_and(tables = ${TABLES} and mark = xmin::text) from change_history) as "isSameTables",
  (select bool_and(run = ${RUN}) from change_history) as "isSameRun",
  ${LAST_VERSION} >= greatest(${position}::bigint, (select max(version) from change_floor),
    (select max(upto) from change_gaps), (select max(version) from changes)) as "goesOn"`

/** @param position the version up to which changes were told */
export const readOrigin = async (reader: Reader, position: number): Promise<Origin> => {
  const { rows } = await sql<OriginRow>`select ${originColumns(position)}`.execute(reader)
  return findOrigin(rows[0] ?? {})
}

/** A column that is null, because no history was noted, proves nothing. */
export const findOrigin = ({ isSameTables, isSameRun, goesOn }: Partial<OriginRow>): Origin => {
  if (isSameTables !== true || goesOn !== true) return 'other tables'
  return isSameRun === true ? 'same' : 'another run'
}
