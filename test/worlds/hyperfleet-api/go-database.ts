import pg from 'pg'

/**
 * A database as the Go HyperFleet service lays it out: the tables and columns that matter, retold from its migrations
 * (openshift-hyperfleet/hyperfleet-api, pkg/db/migrations: the layout with `resources`, and the one of the releases before).
 */
const COMMON = `
  create table migrations (id varchar(255) primary key);
  create table adapter_statuses (
    id varchar(255) primary key default gen_random_uuid()::text,
    created_time timestamptz not null, updated_time timestamptz not null default now(),
    resource_type varchar(20) not null, resource_id varchar(255) not null, adapter varchar(255) not null,
    observed_generation integer not null, last_report_time timestamptz not null,
    conditions jsonb not null, data jsonb, metadata jsonb,
    unique (resource_type, resource_id, adapter)
  );
`

const ROW = `
  id varchar(255) primary key, created_time timestamptz not null, updated_time timestamptz not null, deleted_time timestamptz,
  name varchar(100) not null, href varchar(500), spec jsonb not null, generation integer not null default 1,
  created_by varchar(255) not null, updated_by varchar(255) not null, deleted_by varchar(255)`

export const LAYOUTS = {
  resources: `${COMMON}
    create table resources (${ROW}, kind varchar(100) not null,
      owner_id varchar(255), owner_kind varchar(100), owner_href varchar(500), tenancy jsonb not null default '{}');
    create unique index on resources (kind, name, tenancy) where owner_id is null and deleted_time is null;
    create unique index on resources (kind, owner_id, name) where owner_id is not null and deleted_time is null;
    create table resource_labels (resource_id varchar(255) not null references resources on delete cascade,
      key varchar(255) not null, value varchar(255) not null, primary key (resource_id, key));
    create table resource_conditions (resource_id varchar(255) not null references resources on delete cascade,
      type varchar(100) not null, status varchar(10) not null, reason text, message text, observed_generation integer not null,
      created_time timestamptz not null, last_updated_time timestamptz not null, last_transition_time timestamptz not null,
      primary key (resource_id, type));
    create table resource_references (source_id varchar(255) not null references resources on delete cascade,
      ref_type varchar(255) not null, target_id varchar(255) not null references resources on delete restrict,
      target_kind varchar(100) not null, primary key (source_id, ref_type, target_id));`,
  clusters: `${COMMON}
    create table clusters (${ROW}, kind varchar(255) not null default 'Cluster', labels jsonb, status_conditions jsonb);
    create table node_pools (${ROW}, kind varchar(255) not null default 'NodePool', labels jsonb, status_conditions jsonb,
      owner_id varchar(255) not null references clusters, owner_kind varchar(50) not null, owner_href varchar(500));`,
} as const

export interface GoReport {
  readonly adapter: string
  readonly observed_generation: number
  readonly created_time: string
  readonly last_report_time: string
  readonly conditions: readonly object[]
  readonly data?: object
  readonly metadata?: object
}

export interface GoCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason?: string
  readonly message?: string
  readonly observed_generation: number
  readonly created_time: string
  readonly last_updated_time: string
  readonly last_transition_time: string
}

/** A record as a test says it; what is left out is as of a cluster that is as simple as can be. */
export interface GoRecord {
  readonly id: string
  readonly kind?: string
  readonly name: string
  readonly owner?: { readonly id: string; readonly kind: string }
  readonly href?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: object
  readonly tenancy?: Readonly<Record<string, string>>
  readonly generation?: number
  readonly created_time?: string
  readonly updated_time?: string
  readonly deleted_time?: string
  readonly conditions?: readonly GoCondition[]
  readonly references?: readonly { readonly type: string; readonly id: string; readonly kind: string }[]
  readonly reports?: readonly GoReport[]
}

export const BASE = '/api/hyperfleet/v1'
export const CREATED = '2026-08-01T10:00:00.123456Z'

/** The path of a record of the two kinds that are always there. */
export const hrefOfGo = ({ id, owner }: Pick<GoRecord, 'id' | 'owner'>): string =>
  owner === undefined ? `${BASE}/clusters/${id}` : `${BASE}/clusters/${owner.id}/nodepools/${id}`

/** Lays a database out and gives a connection to it, which the caller ends. */
export const layOut = async (url: string, layout: keyof typeof LAYOUTS = 'resources'): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, application_name: 'muster-migrate' })
  await client.connect()
  await client.query(LAYOUTS[layout])
  return client
}

/** Inserts records as the service would have left them. */
export const insertGo = async (
  client: pg.Client,
  records: readonly GoRecord[],
  layout: keyof typeof LAYOUTS = 'resources',
): Promise<void> => {
  for (const record of records) {
    if (layout === 'resources') await insertResource(client, record)
    else await insertOlder(client, record)
    for (const report of record.reports ?? []) await insertReport(client, record, report)
  }
}

const columnsOf = (record: GoRecord) => {
  const { id, name, spec = {}, generation = 1, created_time = CREATED, updated_time = created_time } = record
  return {
    id,
    name,
    kind: record.kind ?? (record.owner === undefined ? 'Cluster' : 'NodePool'),
    href: record.href ?? hrefOfGo(record),
    spec: JSON.stringify(spec),
    generation,
    created_time,
    updated_time,
    deleted_time: record.deleted_time ?? null,
    created_by: 'alice@example.com',
    updated_by: 'bob@example.com',
    deleted_by: record.deleted_time === undefined ? null : 'carol@example.com',
    ...(record.owner !== undefined && {
      owner_id: record.owner.id,
      owner_kind: record.owner.kind,
      owner_href: `${BASE}/clusters/${record.owner.id}`,
    }),
  }
}

const insert = (client: pg.Client, table: string, row: Readonly<Record<string, unknown>>) => {
  const names = Object.keys(row)
  const places = names.map((_, at) => `$${at + 1}`)
  return client.query(`insert into ${table} (${names.join()}) values (${places.join()})`, Object.values(row))
}

const insertResource = async (client: pg.Client, record: GoRecord): Promise<void> => {
  const { id: resource_id, labels = {}, tenancy = {}, conditions = [], references = [] } = record
  await insert(client, 'resources', { ...columnsOf(record), tenancy: JSON.stringify(tenancy) })
  for (const [key, value] of Object.entries(labels))
    await insert(client, 'resource_labels', { resource_id, key, value })
  for (const condition of conditions) await insert(client, 'resource_conditions', { resource_id, ...condition })
  for (const { type, id, kind } of references)
    await insert(client, 'resource_references', {
      source_id: resource_id,
      ref_type: type,
      target_id: id,
      target_kind: kind,
    })
}

const insertOlder = (client: pg.Client, record: GoRecord) =>
  insert(client, record.owner === undefined ? 'clusters' : 'node_pools', {
    ...columnsOf(record),
    labels: record.labels === undefined ? null : JSON.stringify(record.labels),
    status_conditions: JSON.stringify(record.conditions ?? []),
  })

const insertReport = (client: pg.Client, record: GoRecord, { conditions, data, metadata, ...report }: GoReport) =>
  insert(client, 'adapter_statuses', {
    ...report,
    resource_type: record.owner === undefined ? 'Cluster' : 'NodePool',
    resource_id: record.id,
    conditions: JSON.stringify(conditions),
    data: data === undefined ? null : JSON.stringify(data),
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
  })

const said = (adapter: string): GoReport => ({
  adapter,
  observed_generation: 1,
  created_time: CREATED,
  last_report_time: CREATED,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({
    type,
    status: 'True',
    last_transition_time: CREATED,
  })),
})

/** What a small installation holds. */
export const GO_RECORDS: readonly GoRecord[] = [
  { id: '019c1398-6a00-7000-8d4e-000000000001', name: 'boston', reports: [said('dns'), said('validation')] },
  { id: '019c1398-6a00-7000-8d4e-000000000002', name: 'chicago' },
  {
    id: '019c1398-6a00-7000-8d4e-000000000003',
    name: 'workers',
    owner: { id: '019c1398-6a00-7000-8d4e-000000000001', kind: 'Cluster' },
    reports: [said('dns')],
  },
]
