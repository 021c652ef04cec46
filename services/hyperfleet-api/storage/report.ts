import { sql } from 'kysely'
import type { AdapterStatus, Resource } from '../model/resource.ts'
import type { Timestamp } from '../model/timestamp.ts'
import type { Reader } from './database.ts'
import { type Address, find, notFound, parseDocument } from './resources.ts'
import { CHANGE_LOCK, changedConditions, changeOf, goneConditions } from './write.ts'

/**
 * A status report in two statements, on PostgreSQL only: what is there, and what follows from it. The second takes
 * effect only when the resource's row is still the one that the first has read: `xmin`, the transaction that wrote a
 * row, is a version that no writer can forget to count up. Whoever changes a resource or its statuses writes its row.
 */
export interface Reported {
  readonly resource: Resource
  readonly rows: readonly AdapterStatus[]
  readonly version: string
}

/** A resource and the newest accepted report of each adapter, as of one moment. @throws Problem notFound */
export const readReported = async (reader: Reader, address: Address): Promise<Reported> => {
  const row = await find(reader, address)
    .select([
      sql<string>`resources.xmin::text`.as('version'),
      // Texts of JSON objects, so that they are parsed once, here.
      sql<string>`(select '[' || coalesce(string_agg(document, ',' order by adapter), '') || ']'
        from adapter_statuses where resource_id = resources.id)`.as('statuses'),
    ])
    .executeTakeFirst()
  if (row === undefined) throw notFound(address)
  return {
    resource: parseDocument(row.document),
    rows: JSON.parse(row.statuses) as AdapterStatus[],
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
  const change = changeOf({ type: 'modified', before, resource: after }, time)
  const columns = Object.keys(change) as (keyof typeof change)[]
  const { rows } = await sql`
    with resource as (
      update resources set document = ${change.document} where id = ${after.id} and xmin = ${version}::xid
      returning id, kind
    ), reported as (
      insert into adapter_statuses (resource_id, adapter, document)
      select id, ${status.adapter}, ${JSON.stringify(status)} from resource
      on conflict (resource_id, adapter) do update set document = excluded.document
    ), conditions as (
      insert into resource_conditions
        (resource_id, kind, type, status, observed_generation, last_updated_time, last_transition_time)
      select resource.id, resource.kind, changed.*
      from resource, jsonb_to_recordset(${JSON.stringify(changedConditions(before, after))}::jsonb) as changed
        (type text, status text, observed_generation integer, last_updated_time text, last_transition_time text)
      on conflict (resource_id, type) do update set
        status = excluded.status, observed_generation = excluded.observed_generation,
        last_updated_time = excluded.last_updated_time, last_transition_time = excluded.last_transition_time
    ), gone as (
      delete from resource_conditions using resource
      where resource_id = resource.id and type = any (${goneConditions(before, after)}::text[])
    ), locked as materialized (
      -- Before the change takes its version, as every writer does: see write.ts.
      select pg_advisory_xact_lock_shared(${CHANGE_LOCK}::bigint) from resource
    ), noted as (
      insert into changes (${sql.join(columns.map((column) => sql.ref(column)))})
      select ${sql.join(columns.map((column) => sql`${change[column]}`))} from locked
    )
    select id from resource`.execute(reader)
  return rows.length === 1
}
