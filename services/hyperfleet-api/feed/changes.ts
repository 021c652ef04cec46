import { type Selectable, sql } from 'kysely'
import type { Labels } from '#operator/model/selector.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { Reader } from '../storage/dialect.ts'
import { CHANGE_LOCK } from '../storage/resource-write.ts'
import type { ChangeRow } from '../storage/schema.ts'

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

const parseChange = (row: Selectable<ChangeRow>): Change => ({
  version: row.version,
  type: row.type,
  kind: row.kind,
  ownerId: row.owner_id ?? undefined,
  labelsBefore: JSON.parse(row.labels_before) as Labels,
  labels: JSON.parse(row.labels) as Labels,
  document: row.document,
})

/** Milliseconds that writers are waited for. */
const LOCK_TIMEOUT_MS = 1_000
/** PostgreSQL's lock_not_available. */
export const LOCK_NOT_AVAILABLE = '55P03'

/**
 * The newest version such that no version up to it can still appear. PostgreSQL hands versions out before commits, so a
 * smaller one may become visible after a larger one; whoever took one holds CHANGE_LOCK shared until it commits, so once
 * this has held it alone, what isn't visible is never coming.
 * @throws an error of LOCK_TIMEOUT when a writer doesn't end: who waits for the lock keeps other writers waiting behind it,
 * so it is not waited for long, and asked for again
 */
export const newestStableVersion = async ({ kysely, dialect }: Database): Promise<number> =>
  kysely.transaction().execute(async (transaction) => {
    if (dialect === 'postgres') {
      await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
      await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(transaction)
    }
    const row = await transaction
      .selectFrom('changes')
      .select(({ fn }) => fn.max('version').as('version'))
      .executeTakeFirst()
    return Math.max(Number(row?.version ?? 0), await readFloor(transaction))
  })

/** Versions up to this one are forgotten; a watch can only resume from it or later. */
export const readFloor = async (reader: Reader): Promise<number> =>
  (await reader.selectFrom('change_floor').select('version').executeTakeFirst())?.version ?? 0

/** Forgets changes older than a moment, and the oldest beyond a number. */
export const trimChanges = async (
  database: Database,
  retention: { since: Timestamp; maxChanges: number },
): Promise<void> => {
  await database.transaction(async (writer) => {
    const newest = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.max('version').as('version'))
      .executeTakeFirst()
    const old = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.max('version').as('version'))
      .where('time', '<', retention.since)
      .executeTakeFirst()
    const floor = Math.max(Number(old?.version ?? 0), Number(newest?.version ?? 0) - retention.maxChanges)
    if (floor <= (await readFloor(writer))) return
    await writer.updateTable('change_floor').set({ version: floor }).execute()
    await writer.deleteFrom('changes').where('version', '<=', floor).execute()
  })
}
