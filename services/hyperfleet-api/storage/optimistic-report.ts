import { sql } from 'kysely'
import type { StoredReports } from '../model/report-room.ts'
import type { AdapterStatus, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Reader } from './dialect.ts'
import { type Address, parseDocument, resourceNotFound, selectResource } from './resources.ts'
import { execute, sql as text } from './sql-text.ts'
import { statusPart, writeStatement } from './write-statement.ts'

/**
 * A status report in two statements, on PostgreSQL only: what is there, and what follows from it. The second takes
 * effect only when the resource's row is still the one that the first has read: `xmin`, the transaction that wrote a
 * row, is a version that no writer can forget to count up. Every change of a resource or its statuses writes its row.
 */
export interface ReportedResource {
  readonly resource: Resource
  readonly reports: StoredReports
  readonly version: string
}

/** A resource and the newest accepted report of each adapter, as of one moment. @throws Problem notFound */
export const readWithStatuses = async (reader: Reader, address: Address): Promise<ReportedResource> => {
  const row = await selectResource(reader, address)
    .select([
      sql<string>`resources.xmin::text`.as('version'),
      // Texts of JSON objects, so that they are parsed once, here.
      sql<string>`(select '[' || coalesce(string_agg(document, ',' order by adapter), '') || ']'
        from adapter_statuses where resource_id = resources.id)`.as('statuses'),
    ])
    .executeTakeFirst()
  if (row === undefined) throw resourceNotFound(address)
  return {
    resource: parseDocument(row.document),
    reports: { rows: JSON.parse(row.statuses) as AdapterStatus[], chars: row.statuses.length },
    version: row.version,
  }
}

/** What follows from a report about a resource that stays. */
export interface ReportWrite {
  readonly before: Resource
  readonly after: Resource
  /** Of the row that `before` was read from. */
  readonly version: string
  readonly status: AdapterStatus
  readonly time: Timestamp
}

/** Writes all of it, or nothing when the resource is not as it was read. Returns whether it did. */
export const writeReport = async (
  reader: Reader,
  { before, after, version, status, time }: ReportWrite,
): Promise<boolean> => {
  const step = { type: 'modified', before, resource: after } as const
  const statement = writeStatement(step, time, { ifVersion: version, status })
  return (await execute({ kysely: reader, dialect: 'postgres' }, statement)).length === 1
}

/** Writes a row beside which a report of Available=Unknown stands, if the resource is as it was read. Returns whether it did. */
export const writeInterimReport = async (
  reader: Reader,
  { id, version, status }: { readonly id: string; readonly version: string; readonly status: AdapterStatus },
): Promise<boolean> => {
  const statement = text`with resource as (
      update resources set document = document where id = ${id} and xmin = ${version}::xid returning id
    ), ${statusPart(status)}
    select id from resource`
  return (await execute({ kysely: reader, dialect: 'postgres' }, statement)).length === 1
}
