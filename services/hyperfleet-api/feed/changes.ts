import { type Selectable, sql } from 'kysely'
import type { Labels } from '#operator/model/selector.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { Reader } from '../storage/dialect.ts'
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
    const young = await writer
      .selectFrom('changes')
      .select(({ fn }) => fn.min('version').as('version'))
      .where('time', '>=', retention.since)
      .executeTakeFirst()
    const oldest = young?.version == null ? Number(newest.version) : Number(young.version) - 1
    const floor = Math.max(oldest, Number(newest.version) - retention.maxChanges)
    const raised = await writer
      .updateTable('change_floor')
      .set({ version: floor })
      .where('version', '<', floor)
      .returning('version')
      .executeTakeFirst()
    if (raised !== undefined) await writer.deleteFrom('changes').where('version', '<=', floor).execute()
  })
}
