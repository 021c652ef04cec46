import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '#operator/model/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Reader, Writer } from '../storage/dialect.ts'
import { CHANGE_LOCK } from '../storage/resource-write.ts'

/**
 * Versions count the changes of one history. A database that was promoted, restored or replaced goes on from what it has:
 * changes that were told may be gone, and their versions be given to others. So each time one comes up its versions go on
 * above all that were ever given out, which the time tells: no version means two things (API-73,
 * docs/decisions/watch-versions.md).
 *
 *   another run of the server   ─► a gap from the last version that nothing before can be missing of, to the new begin: a
 *   (SQLite: of this process)      watcher that stands in it saw what may be gone; one before it has lost nothing
 *   other tables than before    ─► all versions up to the new begin are forgotten: every watcher begins anew
 */

/** Versions that a second of time is worth: far more than any database makes of them, and good until the year 2255. */
const VERSIONS_PER_SECOND = 1_000_000
/** How far versions are raised where the time is behind what they have come to. */
const HISTORY_STEP = 1_000_000_000
/** Milliseconds that writers are waited for when a new history begins. */
const LOCK_TIMEOUT_MS = 5_000

/** A server that was promoted, restored to another time, replaced, or put back with its volume was started since. */
const RUN: RawBuilder<string> = sql`extract(epoch from pg_postmaster_start_time())::text`
/**
 * Tables that were dropped and made anew are others. What restores rows alone is seen by the mark, the transaction that wrote
 * the row of the mark: a row that is read from a dump is written by another. Copies of a server's files keep both.
 */
const TABLES: RawBuilder<string> = sql`(select oid from pg_database where datname = current_database()) || '/' ||
  'changes'::regclass::oid`

/**
 * The first version from which on everything is known here: of a position in a gap its end, else the floor. A watch goes on
 * from any position that is not below it.
 */
export const readFloorFor = async (reader: Reader, position: number): Promise<number> => {
  const { rows } = await sql<FloorRow>`select ${floorColumns(position)} from change_floor`.execute(reader)
  return findFloor(rows)
}

interface FloorRow {
  readonly floor: number
  readonly upto: number | null
}

const floorColumns = (position: number): RawBuilder<unknown> => sql`version as floor,
  (select max(upto) from change_gaps where after < ${position} and upto > ${position}) as upto`

/** While tables are restored there is no row for a moment, or one more. */
const findFloor = (rows: readonly FloorRow[]): number =>
  Math.max(0, ...rows.map(({ floor, upto }) => Math.max(floor, Number(upto ?? 0))))

/** SQLite's, of which this process has begun a history: no other may use the file meanwhile. */
const begun = new WeakSet<Database['kysely']>()

/** `readFloorFor` of the history that the database has now, which is begun where it is another than before. */
export const readHistory = async (database: Database, clock: Pick<Clock, 'now'>, position: number): Promise<number> => {
  const { kysely, dialect } = database
  if (dialect === 'postgres') {
    const { rows } = await sql<FloorRow & OriginRow>`select ${floorColumns(position)},
        (select ${IS_SAME_TABLES} from change_history) as "isSameTables",
        (select ${IS_SAME_RUN} from change_history) as "isSameRun"
      from change_floor`.execute(kysely)
    if (findOrigin(rows) === 'same') return findFloor(rows)
    await beginHistory(database)
  } else if (!begun.has(kysely)) {
    await beginRun(database, clock)
    begun.add(kysely)
  }
  return readFloorFor(kysely, position)
}

type Origin = 'same' | 'another run' | 'other tables'

interface OriginRow {
  readonly isSameTables: boolean | null
  readonly isSameRun: boolean | null
}

/** Of all rows, since there are more than one for a moment while tables are restored. */
const IS_SAME_TABLES = sql`bool_and(tables = ${TABLES} and mark = xmin::text)`
const IS_SAME_RUN = sql`bool_and(run = ${RUN})`

const readOrigin = async (reader: Reader): Promise<Origin> => {
  const { rows } = await sql<OriginRow>`select ${IS_SAME_TABLES} as "isSameTables", ${IS_SAME_RUN} as "isSameRun"
    from change_history`.execute(reader)
  return findOrigin(rows)
}

const findOrigin = ([row]: readonly OriginRow[]): Origin => {
  if (row?.isSameTables !== true) return 'other tables'
  return row.isSameRun === true ? 'same' : 'another run'
}

/** The version after which a history begins, above what was there before. */
const beginAbove = (newest: number, seconds: number): number => {
  const present = Math.floor(seconds * VERSIONS_PER_SECOND)
  return present > newest ? present : newest + HISTORY_STEP
}

/** Only here all writers are waited for: a version from before must not be committed after. */
const beginHistory = ({ kysely }: Database): Promise<void> =>
  kysely.transaction().execute(async (writer) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(writer)
    await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(writer)
    const origin = await readOrigin(writer)
    if (origin === 'same') return
    const { rows } = await sql<{ last: number; isNoted: boolean; seconds: number }>`select
        coalesce(pg_sequence_last_value(pg_get_serial_sequence('changes', 'version')), 0) as last,
        exists (select from change_history) as "isNoted",
        extract(epoch from clock_timestamp())::double precision as seconds`.execute(writer)
    const { last = 0, isNoted = false, seconds = 0 } = rows[0] ?? {}
    const known = await readKnown(writer)
    const begin = beginAbove(Math.max(last, known.newest), seconds)
    await sql`select setval(pg_get_serial_sequence('changes', 'version'), ${begin}::bigint)`.execute(writer)
    await sql`delete from change_history`.execute(writer)
    await sql`insert into change_history (run, tables, mark) values (${RUN}, ${TABLES}, '')`.execute(writer)
    await sql`update change_history set mark = xmin::text`.execute(writer)
    // Where nothing was noted the layout is from before, or new.
    if (origin === 'another run' || !isNoted) return putGap(writer, known.complete, begin)
    await writer.updateTable('change_floor').set({ version: begin }).execute()
    await writer.deleteFrom('changes').where('version', '<=', begin).execute()
    await writer.deleteFrom('change_gaps').execute()
  })

const beginRun = ({ kysely }: Database, clock: Pick<Clock, 'now'>): Promise<void> =>
  kysely.transaction().execute(async (writer) => {
    const known = await readKnown(writer)
    const begin = beginAbove(known.newest, clock.now().getTime() / 1_000)
    await sql`delete from sqlite_sequence where name = 'changes'`.execute(writer)
    await sql`insert into sqlite_sequence (name, seq) values ('changes', ${begin})`.execute(writer)
    await putGap(writer, known.complete, begin)
  })

interface Known {
  /** The newest version that is there, or was. */
  readonly newest: number
  /**
   * The newest up to which none is missing. A missing one may be of a transaction that was undone, or of one that was
   * committed and told after later versions were, and lost.
   */
  readonly complete: number
}

const readKnown = async (reader: Reader): Promise<Known> => {
  const { rows } = await sql<{ newest: number | null; hole: number | null }>`select
      max(version) as newest, min(case when version > before + 1 then before end) as hole
    from (
      select version, case when ended > before then ended else before end as before from (
        select version, coalesce(lag(version) over (order by version), (select max(version) from change_floor)) as before,
          (select coalesce(max(upto), 0) from change_gaps where upto < version) as ended
        from changes
      ) as neighbours
    ) as sequence`.execute(reader)
  const floor = await readFloorFor(reader, 0)
  const newest = Math.max(floor, Number(rows[0]?.newest ?? 0))
  return { newest, complete: Number(rows[0]?.hole ?? newest) }
}

const putGap = async (writer: Writer, after: number, upto: number): Promise<void> => {
  await writer
    .deleteFrom('change_gaps')
    .where('upto', '<=', await readFloorFor(writer, 0))
    .execute()
  await writer.insertInto('change_gaps').values({ after, upto }).execute()
}
