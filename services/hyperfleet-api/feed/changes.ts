import { type Selectable, sql } from 'kysely'
import type { Clock } from '#operator/model/clock.ts'
import type { Labels } from '#operator/model/selector.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { Reader } from '../storage/dialect.ts'
import type { ChangeRow } from '../storage/schema.ts'
import { type HistoryRow, historyColumns, readInHistory } from './history.ts'

/** A change as it is handed out. */
export interface Change {
  readonly version: number
  readonly type: 'added' | 'modified' | 'deleted'
  readonly kind: string
  readonly ownerId: string | undefined
  readonly labelsBefore: Labels
  readonly labels: Labels
  /** The resource after the change, or as it was when it was deleted: its wire form. */
  readonly document: string
}

/** Changes after a version in order; one kind only when given. */
export const readChanges = async (
  reader: Reader,
  { after, upTo, kind, limit }: { after: number; upTo?: number; kind?: string; limit: number },
): Promise<Change[]> => {
  let query = reader.selectFrom('changes').selectAll().where('version', '>', after).orderBy('version').limit(limit)
  if (upTo !== undefined) query = query.where('version', '<=', upTo)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  return (await query.execute()).map(parseChange)
}

/**
 * Changes that are read at a time: so many, and no more than come to so many bytes of documents with the last of them. More would
 * have PostgreSQL plan the statement each time, which takes it longer than to read: that it reads few is not in a plan for all positions.
 */
const BATCH_SIZE = 100
const BATCH_BYTES = 1024 * 1024

/** A change of which no one wants to know more. */
export interface UnreadChange {
  readonly version: number
  readonly document?: undefined
}

export interface ChangeBatch<Item extends Change | UnreadChange = Change> {
  readonly changes: readonly Item[]
  /** There were no more when it was read. */
  readonly isLast: boolean
  /** A reader at the position has lost nothing where this is not above it: what it has not read is there. */
  readonly floor: number
}

/** Without a change where there is none. */
type BatchRow = HistoryRow &
  ((Selectable<ChangeRow> & { readonly available: number }) | { readonly version: null; readonly available: null })

/**
 * The next changes of all kinds, as many as fit (API-96), and whose they are (API-98). One statement: what is too much is not
 * sent by the database, and nothing can be restored between its parts.
 */
export const readNextChanges = async (
  database: Database,
  clock: Pick<Clock, 'now'>,
  { after, upTo }: { readonly after: number; readonly upTo?: number },
): Promise<ChangeBatch> => {
  const end = upTo === undefined ? sql`` : sql`and version <= ${upTo}`
  const query = sql<BatchRow>`select * from (select ${historyColumns(database.dialect, after)} from change_floor) as history
    left join (select * from (
      select next.*, count(*) over () as available,
        coalesce(sum(octet_length(document)) over (
          order by version rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from (select * from changes where version > ${after} ${end} order by version limit ${sql.lit(BATCH_SIZE)}) as next
    ) as measured where bytes_before < ${sql.lit(BATCH_BYTES)}) as sized on true order by version`
  const { rows, floor } = await readInHistory(
    database,
    clock,
    after,
    async () => (await query.execute(database.kysely)).rows,
  )
  const changes = rows.filter((row) => row.version !== null)
  const available = Number(rows[0]?.available ?? 0)
  return { changes: changes.map(parseChange), isLast: changes.length === available && available < BATCH_SIZE, floor }
}

/** The next changes, which no one watches: their versions (API-151). */
export const readNextVersions = async (
  database: Database,
  clock: Pick<Clock, 'now'>,
  { after, upTo }: { readonly after: number; readonly upTo?: number },
): Promise<ChangeBatch<UnreadChange>> => {
  const end = upTo === undefined ? sql`` : sql`and version <= ${upTo}`
  const query = sql<
    HistoryRow & { readonly version: number | null }
  >`select * from (select ${historyColumns(database.dialect, after)} from change_floor) as history
    left join (select version from changes where version > ${after} ${end} order by version limit ${sql.lit(BATCH_SIZE)}) as next
      on true order by version`
  const { rows, floor } = await readInHistory(
    database,
    clock,
    after,
    async () => (await query.execute(database.kysely)).rows,
  )
  const changes = rows.flatMap(({ version }) => (version === null ? [] : { version: Number(version) }))
  return { changes, isLast: changes.length < BATCH_SIZE, floor }
}

/** Where changes end and how long they are: what is needed to read them in portions. */
export const readChangeLengths = async (
  reader: Reader,
  { after, upTo, kind, limit }: { after: number; upTo: number; kind: string; limit: number },
): Promise<{ readonly version: number; readonly bytes: number }[]> =>
  reader
    .selectFrom('changes')
    .select(['version', sql<number>`octet_length(document)`.as('bytes')])
    .where('version', '>', after)
    .where('version', '<=', upTo)
    .where('kind', '=', kind)
    .orderBy('version')
    .limit(limit)
    .execute()

const parseChange = (row: Selectable<ChangeRow>): Change => ({
  version: row.version,
  type: row.type,
  kind: row.kind,
  ownerId: row.owner_id ?? undefined,
  labelsBefore: JSON.parse(row.labels_before) as Labels,
  labels: JSON.parse(row.labels) as Labels,
  document: row.document,
})

/** Versions up to this one are forgotten; a watch can only resume from it or later. */
export const readFloor = async (reader: Reader): Promise<number> =>
  (await reader.selectFrom('change_floor').select('version').executeTakeFirst())?.version ?? 0

/**
 * Forgets changes older than a moment, and the oldest beyond a number. The floor only rises, however many replicas trim at
 * once; and as replicas' clocks differ, a change is old only when all before it are (API-74).
 */
export const trimChanges = async (
  database: Database,
  retention: { since: Timestamp; maxChanges: number },
): Promise<void> => {
  await database.transaction(async (writer) => {
    const newest = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.max('version').as('version'))
      .executeTakeFirst()
    if (newest?.version == null) return
    // Counted, and not reckoned from versions: between two histories is a gap.
    const surplus = await writer
      .selectFrom('changes')
      .select('version')
      .orderBy('version', 'desc')
      .offset(retention.maxChanges)
      .limit(1)
      .executeTakeFirst()
    const young = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.min('version').as('version'))
      .where('time', '>=', retention.since)
      .executeTakeFirst()
    const oldest = young?.version == null ? Number(newest.version) : Number(young.version) - 1
    // Only to a version that is there: what stands in the gap before the first change has missed none.
    const last = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.max('version').as('version'))
      .where('version', '<=', Math.max(oldest, surplus?.version ?? 0))
      .executeTakeFirst()
    if (last?.version == null) return
    const floor = Number(last.version)
    const raised = await writer
      .updateTable('change_floor')
      .set({ version: floor })
      .where('version', '<', floor)
      .returning('version')
      .executeTakeFirst()
    if (raised !== undefined) await writer.deleteFrom('changes').where('version', '<=', floor).execute()
  })
}
