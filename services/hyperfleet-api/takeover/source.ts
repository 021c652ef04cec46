import { createHash } from 'node:crypto'
import pg from 'pg'
import { otherSessions, type Session, TAKEOVER_NAME } from './sessions.ts'
import {
  type Columns,
  layoutOf,
  type RecordTable,
  SOURCE_TABLES,
  type SourceLayout,
  timeText,
} from './source-layout.ts'
import type { SourceHeader, SourceRecord } from './source-record.ts'

/** A record and a digest of all that the source says of it. */
export interface ReadRecord {
  readonly record: SourceRecord
  readonly digest: string
}

/** The database of a Go service, as it was at one moment. Nothing is written to it. */
export interface Source {
  /** Of other programs. */
  readonly sessions: readonly Session[]
  /** Every record. */
  readonly headers: readonly SourceHeader[]
  /** Ids of records that own others. */
  readonly owners: ReadonlySet<string>
  /** Adapter reports about records that are not there. */
  readonly strayReports: number
  read(id: string): Promise<ReadRecord>
  close(): Promise<void>
}

/** @throws TakeoverError, or PostgreSQL's error when it can't be read */
export const openSource = async (url: string): Promise<Source> => {
  const client = new pg.Client({ connectionString: url, application_name: TAKEOVER_NAME })
  // Without it a connection that breaks between two statements would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    // All that is read is of one moment.
    await client.query('begin isolation level repeatable read, read only')
    const layout = layoutOf(await readColumns(client))
    const { headers, places } = await readHeaders(client, layout)
    return {
      sessions: await otherSessions(client),
      headers,
      owners: new Set([...places.values()].flatMap(({ ownerId }) => ownerId ?? [])),
      strayReports: layout.hasReports ? await countStrayReports(client, layout) : 0,
      read: async (id) => {
        const table = places.get(id)?.table
        if (table === undefined) throw new TypeError(`${id} is no record of the source`)
        return readRecord(client, recordQuery(table, layout), id)
      },
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

const readColumns = async (client: pg.Client): Promise<Columns> => {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select table_name::text as table, array_agg(column_name::text) as columns from information_schema.columns
     where table_schema = current_schema() and table_name = any($1) group by table_name`,
    [SOURCE_TABLES],
  )
  return new Map(rows.map(({ table, columns }) => [table, new Set(columns)]))
}

interface Place {
  readonly table: RecordTable
  readonly ownerId: string | null
}

const readHeaders = async (client: pg.Client, { tables, hasReferences }: SourceLayout) => {
  const targets = new Map<string, string[]>()
  if (hasReferences) {
    const { rows } = await client.query<{ source_id: string; target_id: string }>(
      'select source_id, target_id from resource_references',
    )
    for (const { source_id, target_id } of rows) targets.set(source_id, [...(targets.get(source_id) ?? []), target_id])
  }
  const places = new Map<string, Place>()
  const headers: SourceHeader[] = []
  for (const table of tables) {
    const { rows } = await client.query<{ id: string; kind: string; name: string; owner_id: string | null }>(
      `select r.id, r.kind, r.name, ${table.owner.id} as owner_id from ${table.table} r order by r.created_time, r.id`,
    )
    for (const { id, kind, name, owner_id } of rows) {
      // Copied by hand from one layout to the next: `resources` is the one that is served.
      if (places.has(id)) continue
      places.set(id, { table, ownerId: owner_id })
      headers.push({ id, kind, name, after: [...(owner_id === null ? [] : [owner_id]), ...(targets.get(id) ?? [])] })
    }
  }
  return { headers, places }
}

const readRecord = async (client: pg.Client, query: string, id: string): Promise<ReadRecord> => {
  const { rows } = await client.query<{ record: string }>(query, [id])
  const text = rows[0]?.record
  if (text === undefined) throw new TypeError(`${id} went while it was read, which no snapshot allows`)
  return { record: JSON.parse(text) as SourceRecord, digest: createHash('sha256').update(text).digest('hex') }
}

/** One record as one JSON text. jsonb orders keys by itself, so equal records are equal texts. */
const recordQuery = (
  { table, owner, labels, tenancy, conditions, references }: RecordTable,
  { hasReports }: SourceLayout,
) => `
  select jsonb_build_object(
    'id', r.id, 'kind', r.kind, 'name', r.name, 'href', r.href,
    'owner_id', ${owner.id}, 'owner_kind', ${owner.kind}, 'owner_href', ${owner.href},
    'generation', r.generation, 'created_time', ${timeText('r.created_time')}, 'updated_time', ${timeText('r.updated_time')},
    'deleted_time', ${timeText('r.deleted_time')}, 'created_by', r.created_by, 'updated_by', r.updated_by,
    'deleted_by', r.deleted_by, 'spec', r.spec, 'labels', ${labels}, 'tenancy', ${tenancy},
    'conditions', ${conditions}, 'references', ${references}, 'reports', ${hasReports ? REPORTS : `'[]'::jsonb`}
  )::text as record from ${table} r where r.id = $1`

/** Ids are of one kind only, so the type of a report says nothing more; the newest counts should there be two. */
const REPORTS = `coalesce((select jsonb_agg(jsonb_build_object(
    'adapter', s.adapter, 'observed_generation', s.observed_generation, 'created_time', ${timeText('s.created_time')},
    'last_report_time', ${timeText('s.last_report_time')}, 'conditions', s.conditions,
    'data', nullif(s.data, 'null'), 'metadata', nullif(s.metadata, 'null')) order by s.adapter)
  from (select distinct on (adapter) * from adapter_statuses where resource_id = r.id
    order by adapter, last_report_time desc) s), '[]')`

const countStrayReports = async (client: pg.Client, { tables }: SourceLayout): Promise<number> => {
  const known = tables.map(({ table }) => `select id from ${table}`).join(' union all ')
  const { rows } = await client.query<{ count: string }>(
    `select count(*) from adapter_statuses where resource_id not in (${known})`,
  )
  return Number(rows[0]?.count)
}
