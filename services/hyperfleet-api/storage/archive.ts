import type { Tenancy } from '../auth/tenancy.ts'
import type { ShownStatus } from '../model/interim-report.ts'
import type { Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Reader, Writer } from './dialect.ts'
import { shortText } from './page-row.ts'
import { sortedJson } from './resource-write.ts'

/**
 * The archive: what was known last of every record that is gone. It is written in the transaction that removes the
 * record, so nothing goes without a trace (API-29).
 */

/** The caller that removed a record before its adapters had cleaned up, and why. */
export interface ForcedRemoval {
  readonly by: string
  readonly reason: string
}

/** A record of the archive as it goes over the wire. */
export interface ArchivedResource {
  readonly archived_time: Timestamp
  /** Only when the record was removed by force. */
  readonly forced?: ForcedRemoval
  /** As it was last. */
  readonly resource: Resource
  /** The last report of each adapter. */
  readonly statuses: readonly ShownStatus[]
}

export const putArchived = async (writer: Writer, archived: ArchivedResource): Promise<void> => {
  const { resource, archived_time } = archived
  await writer
    .insertInto('archive')
    .values({
      id: resource.id,
      kind: resource.kind,
      name: resource.name,
      tenancy: sortedJson(resource.tenancy),
      archived_time,
      document: JSON.stringify(archived),
    })
    .execute()
}

/** Which archived records of one kind a list is about. */
export interface ArchiveFilter {
  readonly kind: string
  readonly id?: string | undefined
  readonly name?: string | undefined
  /** Undefined sees every tenant's. */
  readonly tenancy?: Tenancy | undefined
}

/** What is still there of archived records, by id. */
export const readArchived = async (reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const rows = await reader.selectFrom('archive').select(['id', 'document']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, document }) => [id, document]))
}

/** A page of wire documents, the newest first: the query, so that tests can look at its plan. */
export const archivedPageQuery = (
  reader: Reader,
  filter: ArchiveFilter,
  { offset, size }: { readonly offset: number; readonly size: number },
) =>
  matching(reader, filter)
    .select(['id as key', ...shortText('document', size)])
    .orderBy('archived_time', 'desc')
    .orderBy('id', 'desc')
    .offset(offset)
    .limit(size)

export const countArchived = async (reader: Reader, filter: ArchiveFilter): Promise<number> => {
  const { total } = await matching(reader, filter)
    .select(({ fn }) => fn.countAll().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

/** Forgets archived records for good: of a kind, archived before a moment, or both. @returns how many */
export const purgeArchive = async (
  writer: Reader,
  { before, kind }: { readonly before?: Timestamp | undefined; readonly kind?: string | undefined },
): Promise<number> => {
  let query = writer.deleteFrom('archive')
  if (before !== undefined) query = query.where('archived_time', '<', before)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  const { numDeletedRows } = await query.executeTakeFirst()
  return Number(numDeletedRows)
}

const matching = (reader: Reader, { kind, id, name, tenancy }: ArchiveFilter) => {
  let query = reader.selectFrom('archive').where('kind', '=', kind)
  if (id !== undefined) query = query.where('id', '=', id)
  if (name !== undefined) query = query.where('name', '=', name)
  if (tenancy !== undefined) query = query.where('tenancy', '=', sortedJson(tenancy))
  return query
}
