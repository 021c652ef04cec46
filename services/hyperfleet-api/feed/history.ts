import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '#operator/model/clock.ts'
import { Problem } from '../problems/problem.ts'
import type { DialectName, Reader, Writer } from '../storage/dialect.ts'
import { CHANGE_LOCK } from '../storage/resource-write.ts'
import { findOrigin, LAST_VERSION, type OriginRow, originColumns, RUN, readOrigin, TABLES } from './origin.ts'

/**
 * Versions count the changes of one history. A database that was promoted, restored or replaced goes on from what it has:
 * changes that were told may be gone, and their versions be given to others. So each time one comes up its versions go on
 * above all that were ever given out, which the time tells: no version means two things (API-73,
 * docs/decisions/watch-versions.md).
 *
 *   another run of the server   ─► a gap from the last version that nothing before can be missing of, to the new begin: a
 *   (SQLite: of this process)      watcher that stands in it saw what may be gone; one before it has lost nothing
 *   other tables than before,   ─► all versions up to the new begin are forgotten: every watcher begins anew
 *   or their versions put back
 *
 * A connection to another run begins the history before it is used, so nothing is written in that run before; what each read
 * of changes sees besides may have been written to (API-98).
 */

/** Versions that a second of time is worth: far more than any database makes of them, and good until the year 2255. */
const VERSIONS_PER_SECOND = 1_000_000
/** How far versions are raised where the time is behind what they have come to. */
const HISTORY_STEP = 1_000_000_000
/** Milliseconds that writers are waited for when a new history begins. */
const LOCK_TIMEOUT_MS = 5_000
/** More histories than begin one after the other within one read. */
const MAX_ATTEMPTS = 3

/**
 * The first version from which on everything is known here: of a position in a gap its end, else the floor. A watch goes on
 * from any position that is not below it.
 */
export const readFloorFor = async (reader: Reader, position: number): Promise<number> => {
  const { rows } = await sql<FloorRow>`select ${floorColumns(position)} from change_floor`.execute(reader)
  return findFloor(rows[0])
}

interface FloorRow {
  readonly floor: number | null
  readonly upto: number | null
}

/** One row, also while tables are restored and there is none for a moment, or one more. */
const floorColumns = (position: number): RawBuilder<unknown> => sql`max(version) as floor,
  (select max(upto) from change_gaps where after < ${position} and upto > ${position}) as upto`

const findFloor = (row?: FloorRow): number => Math.max(0, Number(row?.floor ?? 0), Number(row?.upto ?? 0))

/** What each read of changes brings with it: whose they are, and from which version on all of them are there. */
export type HistoryRow = FloorRow & Partial<OriginRow>

/** For a select from `change_floor`. */
export const historyColumns = (dialect: DialectName, position: number): RawBuilder<unknown> =>
  dialect === 'postgres' ? sql`${floorColumns(position)}, ${originColumns(position)}` : floorColumns(position)

/** What histories need of the database. */
interface Source {
  readonly kysely: Reader
  readonly dialect: DialectName
}

/** SQLite's, of which this process has begun a history: no other may use the file meanwhile. */
const begun = new WeakSet<Reader>()

/**
 * Reads in the history that the database has now, which is begun where it is another than before: nothing is told as a
 * change of this one that is of another (API-98).
 * @returns what was read, and `readFloorFor` of the position
 * @throws Problem unavailable while it becomes another again and again
 */
export const readInHistory = async <T extends HistoryRow>(
  { kysely, dialect }: Source,
  clock: Pick<Clock, 'now'>,
  position: number,
  read: () => Promise<readonly T[]>,
): Promise<{ readonly rows: readonly T[]; readonly floor: number }> => {
  if (dialect === 'sqlite' && !begun.has(kysely)) {
    await beginRun(kysely, clock)
    begun.add(kysely)
  }
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const rows = await read()
    if (dialect === 'sqlite' || findOrigin(rows[0] ?? {}) === 'same') return { rows, floor: findFloor(rows[0]) }
    await beginHistory(kysely, { position, isUnwritten: false })
  }
  throw new Problem('unavailable', 'the tables of the database are being restored, try again')
}

/** Begins the history of a run in which nothing was written yet: before a connection to it is used, or a new layout. */
export const beginRunOfServer = async (kysely: Reader): Promise<void> => {
  if ((await readOrigin(kysely, 0)) !== 'same') await beginHistory(kysely, { position: 0, isUnwritten: true })
}

/** The version after which a history begins, above what was there before. */
const beginAbove = (newest: number, seconds: number): number => {
  const present = Math.floor(seconds * VERSIONS_PER_SECOND)
  return present > newest ? present : newest + HISTORY_STEP
}

interface Beginning {
  /** What was told up to here. */
  readonly position: number
  /** The present run of the server has written no change yet. */
  readonly isUnwritten: boolean
}

/** Only here all writers are waited for: a version from before must not be committed after. */
const beginHistory = (kysely: Reader, { position, isUnwritten }: Beginning): Promise<void> =>
  kysely.transaction().execute(async (writer) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(writer)
    await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(writer)
    const origin = await readOrigin(writer, position)
    if (origin === 'same') return
    const { rows } = await sql<{ last: number; isNoted: boolean; seconds: number }>`select ${LAST_VERSION} as last,
        exists (select from change_history) as "isNoted",
        extract(epoch from clock_timestamp())::double precision as seconds`.execute(writer)
    const { last = 0, isNoted = false, seconds = 0 } = rows[0] ?? {}
    const known = await readKnown(writer)
    const begin = beginAbove(Math.max(last, known.newest, position), seconds)
    await sql`select setval(pg_get_serial_sequence('changes', 'version'), ${begin}::bigint)`.execute(writer)
    await sql`delete from change_history`.execute(writer)
    await sql`insert into change_history (run, tables, mark) values (${RUN}, ${TABLES}, '')`.execute(writer)
    await sql`update change_history set mark = xmin::text`.execute(writer)
    // Where nothing was noted the layout is from before, or new.
    if (isUnwritten && (origin === 'another run' || !isNoted)) return putGap(writer, known.complete, begin)
    await putFloor(writer, begin)
    await writer.deleteFrom('changes').where('version', '<=', begin).execute()
    await writer.deleteFrom('change_gaps').execute()
  })

/** Also where the row is not restored yet: a smaller one that comes beside it does not count. */
const putFloor = async (writer: Writer, version: number): Promise<void> => {
  const { numUpdatedRows } = await writer.updateTable('change_floor').set({ version }).executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) await writer.insertInto('change_floor').values({ version }).execute()
}

const beginRun = (kysely: Reader, clock: Pick<Clock, 'now'>): Promise<void> =>
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
