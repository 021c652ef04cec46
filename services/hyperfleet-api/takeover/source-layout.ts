import { TakeoverError } from './takeover-error.ts'

/** The columns of each table, by the table's name. */
export type Columns = ReadonlyMap<string, ReadonlySet<string>>

/** The tables that the Go service has had, which are read. */
export const SOURCE_TABLES = [
  'resources',
  'clusters',
  'node_pools',
  'resource_labels',
  'resource_conditions',
  'resource_references',
  'adapter_statuses',
] as const

/** A table of records, and the SQL for what the layouts have in different places: `r` is its row. JSON all of them. */
export interface RecordTable {
  readonly table: 'resources' | 'clusters' | 'node_pools'
  readonly owner: { readonly id: string; readonly kind: string; readonly href: string }
  readonly labels: string
  readonly tenancy: string
  readonly conditions: string
  readonly references: string
}

export interface SourceLayout {
  readonly tables: readonly RecordTable[]
  /** Whether there are adapter reports at all. */
  readonly hasReports: boolean
  readonly hasReferences: boolean
}

/**
 * Which tables a database of the Go service has its records in: `resources` since it serves kinds by configuration, `clusters`
 * and `node_pools` in releases before, or both after an upgrade that moved nothing.
 * @throws TakeoverError when it is no such database, or one that its own `migrate` has to bring up to date first
 */
export const layoutOf = (columns: Columns): SourceLayout => {
  const has = (table: string, column: string) => columns.get(table)?.has(column) === true
  if (has('resources', 'document')) throw new TakeoverError('it is a database of Muster already')
  const outdated = ['clusters', 'node_pools', 'adapter_statuses'].find((table) => has(table, 'deleted_at'))
  if (outdated !== undefined)
    throw new TakeoverError(
      `it has the layout of an old release (${outdated}.deleted_at): run "migrate" of the newest release of the Go service on it first`,
    )
  const tables = [
    ...(has('resources', 'owner_href') ? [generic(has)] : []),
    ...(['clusters', 'node_pools'] as const).filter((table) => has(table, 'deleted_time')).map(older),
  ]
  if (tables.length === 0)
    throw new TakeoverError('it has none of the tables of the Go service: name the database that its service uses')
  return { tables, hasReports: columns.has('adapter_statuses'), hasReferences: columns.has('resource_references') }
}

const generic = (has: (table: string, column: string) => boolean): RecordTable => ({
  table: 'resources',
  owner: { id: 'r.owner_id', kind: 'r.owner_kind', href: 'r.owner_href' },
  labels: has('resource_labels', 'key')
    ? `coalesce((select jsonb_object_agg(l.key, l.value) from resource_labels l where l.resource_id = r.id), '{}')`
    : has('resources', 'labels')
      ? NO_LABELS
      : `'{}'::jsonb`,
  tenancy: has('resources', 'tenancy') ? 'r.tenancy' : `'{}'::jsonb`,
  conditions: has('resource_conditions', 'type')
    ? `coalesce((select jsonb_agg(jsonb_build_object('type', c.type, 'status', c.status, 'reason', c.reason, 'message', c.message,
        'observed_generation', c.observed_generation, 'created_time', ${timeText('c.created_time')},
        'last_updated_time', ${timeText('c.last_updated_time')}, 'last_transition_time', ${timeText('c.last_transition_time')})
        order by c.type) from resource_conditions c where c.resource_id = r.id), '[]')`
    : `'[]'::jsonb`,
  references: has('resource_references', 'ref_type')
    ? `coalesce((select jsonb_agg(jsonb_build_object('type', n.ref_type, 'id', n.target_id, 'kind', n.target_kind, 'href', t.href)
        order by n.ref_type, n.target_id) from resource_references n left join resources t on t.id = n.target_id
        where n.source_id = r.id), '[]')`
    : `'[]'::jsonb`,
})

const NO_LABELS = `case jsonb_typeof(r.labels) when 'object' then r.labels else '{}'::jsonb end`

/** `clusters` and `node_pools` have labels and conditions in the row. */
const older = (table: 'clusters' | 'node_pools'): RecordTable => {
  const owned = table === 'node_pools'
  return {
    table,
    owner: owned
      ? { id: 'r.owner_id', kind: 'r.owner_kind', href: 'r.owner_href' }
      : { id: 'null', kind: 'null', href: 'null' },
    labels: NO_LABELS,
    tenancy: `'{}'::jsonb`,
    conditions: `case jsonb_typeof(r.status_conditions) when 'array' then r.status_conditions else '[]'::jsonb end`,
    references: `'[]'::jsonb`,
  }
}

/** A column of times as RFC 3339 in UTC with microseconds; as PostgreSQL writes it where that can't be. */
export function timeText(column: string): string {
  return `coalesce(to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), ${column}::text)`
}
