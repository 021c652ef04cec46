import { type RawBuilder, sql } from 'kysely'
import type { EntityConfig } from '#services/hyperfleet-api/model/entity-config.ts'
import type { Database } from '#services/hyperfleet-api/storage/database.ts'

/** Clusters, and as many of most other things. */
export const ROWS = 4_000
/** Of a cluster that has more children than any page. */
export const MANY_POOLS = 400
/** When the first was made, in seconds since 1970; one is made each second. */
const BEGINNING = Date.UTC(2026, 0, 1) / 1_000

/** The moment at which so many were made. */
export const timeOf = (n: number): string => new Date((BEGINNING + n) * 1_000).toISOString().replace('Z', '000Z')
export const clusterId = (n: number): string => `c-${String(n).padStart(8, '0')}`
export const poolId = (n: number): string => `p-${String(n).padStart(8, '0')}`

export const entities: readonly EntityConfig[] = [
  {
    kind: 'Cluster',
    plural: 'clusters',
    required_adapters: ['dns', 'validation'],
    references: [{ ref_type: 'wif_config', target_kind: 'WifConfig', max: 1 }],
  },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['pools'] },
  { kind: 'Machine', plural: 'machines', parent_kind: 'NodePool' },
  { kind: 'WifConfig', plural: 'wifconfigs' },
]

/** How many there are of what the catalogue asks for. */
export const HAVE = {
  /** Of all kinds. */
  resources: 2 * ROWS + MANY_POOLS + 200,
  conditions: 2 * ROWS,
  region: ROWS / 20,
  red: ROWS / 4,
  waiting: ROWS / 2,
  taken: ROWS / 4,
}

/**
 * A fleet of several tenants with all that the API stores of one, written by SQL because only what the planner sees of it matters:
 * 20 regions, one in 50 not ready, some in deletion; an event for each, which waits for the group `dns`, is a dead letter there, or is
 * taken by the group `slow`.
 */
export const fillFleet = async ({ kysely, dialect }: Database): Promise<void> => {
  const isPostgres = dialect === 'postgres'
  const numbers = (last: number) =>
    isPostgres
      ? sql`(select n from generate_series(1, ${sql.lit(last)}) as t(n)) as numbers`
      : sql`(with recursive t(n) as (select 1 union all select n + 1 from t where n < ${sql.lit(last)}) select n from t) as numbers`
  const all = numbers(ROWS)
  const padded = isPostgres ? sql`lpad(n::text, 8, '0')` : sql`printf('%08d', n)`
  const time = isPostgres
    ? sql`to_char(to_timestamp(${sql.lit(BEGINNING)} + n) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
    : sql`strftime('%Y-%m-%dT%H:%M:%S.000000Z', ${sql.lit(BEGINNING)} + n, 'unixepoch')`
  const tenancy = sql`case n % 4 when 0 then '{"org":"red"}' when 1 then '{"org":"blue"}' else '{}' end`
  const isDeleting = sql`n % 400 = 75`
  const documentOf = (
    kind: string,
    id: RawBuilder<unknown>,
  ) => sql`'{"id":"' || ${id} || ${sql.lit(`","kind":"${kind}","name":"name-`)} || n ||
    '","generation":1,"created_time":"' || ${time} || '","updated_time":"' || ${time} || '","tenancy":' || ${tenancy} ||
    case when ${isDeleting} then ',"deleted_time":"' || ${time} || '"' else '' end ||
    ',"href":"/one","labels":{"region":"region-' || (n % 20) || '"},"spec":{"size":' || n || ',"region":{"zone":"zone-' || (n % 200) || '"},"more":"${sql.raw('0123456789'.repeat(60))}"},"status":{"phase":"Ready","conditions":[]}}'`
  const report = sql.lit(JSON.stringify({ adapter: 'dns', conditions: [], data: { more: '0123456789'.repeat(30) } }))
  const columns = sql`id, kind, name, href, owner_id, owner_kind, generation, created_time, updated_time, created_by, updated_by, tenancy,
    document, deleted_time, awaited, awaited_groups`
  const rowOf = (
    kind: string,
    id: RawBuilder<unknown>,
    owner: RawBuilder<unknown>,
    prefix = 'name-',
  ) => sql`select ${id}, ${sql.lit(kind)},
    ${sql.lit(prefix)} || n, '/' || n, ${owner}, ${sql.lit(kind === 'NodePool' ? 'Cluster' : null)}, 1, ${time}, ${time}, 'maker-' || (n % 500), 'a', ${tenancy},
    ${documentOf(kind, id)}, case when ${isDeleting} then ${time} end, case when ${isDeleting} then '["dns"]' end,
    case when ${isDeleting} then '["slow"]' end`
  const cluster = sql`'c-' || ${padded}`
  const condition = (type: string) => sql`select ${cluster}, 'Cluster', ${time}, ${sql.lit(type)},
    case when n % 50 = 0 then 'False' else 'True' end, 1, ${time}, ${time} from ${all}`
  const sequence = sql`(select min(sequence) from events) - 1`
  const fills = [
    sql`insert into resources (${columns}) ${rowOf('Cluster', cluster, sql`null`)} from ${all}`,
    sql`insert into resources (${columns}) ${rowOf('NodePool', sql`'p-' || ${padded}`, cluster)} from ${all}`,
    sql`insert into resources (${columns}) ${rowOf('NodePool', sql`'q-' || ${padded}`, sql.lit(clusterId(10)), 'many-')} from ${numbers(MANY_POOLS)}`,
    sql`insert into resources (${columns}) ${rowOf('WifConfig', sql`'w-' || n`, sql`null`)} from ${numbers(100)}`,
    ...[sql`'region', 'region-' || (n % 20)`, sql`'owner', 'team-' || (n % 300)`, sql`'stage', 'prod'`].map(
      (label) => sql`insert into resource_labels (resource_id, kind, created_time, key, value)
        select ${cluster}, 'Cluster', ${time}, ${label} from ${all}`,
    ),
    ...['Ready', 'Reconciled'].map(
      (type) => sql`insert into resource_conditions
        (resource_id, kind, created_time, type, status, observed_generation, last_updated_time, last_transition_time) ${condition(type)}`,
    ),
    ...['dns', 'validation'].map(
      (adapter) => sql`insert into adapter_statuses (resource_id, adapter, document)
        select ${cluster}, ${sql.lit(adapter)}, ${report} from ${all}`,
    ),
    sql`insert into resource_references (source_id, ref_type, target_id)
      select ${cluster}, 'wif_config', case when n % 8 = 3 then 'w-1' else 'w-' || (n % 100 + 1) end from ${all} where n % 4 = 3`,
    sql`insert into changes (type, resource_id, kind, labels_before, labels, document, time)
      select 'modified', ${cluster}, 'Cluster', '{}', '{}', ${documentOf('Cluster', cluster)}, ${time} from ${all}`,
    sql`insert into archive (id, kind, name, tenancy, archived_time, document)
      select 'a-' || ${padded}, 'Cluster', 'name-' || (n % 1000), ${tenancy}, ${time}, '{}' from ${all}`,
    sql`insert into status_log (resource_id, adapter, received_time, reason, report)
      select case when n <= 100 then ${sql.lit(clusterId(30))} else ${cluster} end, 'dns', ${time}, 'AvailableUnknown', ${report} from ${all}`,
    sql`insert into event_consumers (name, kind, selector, max_deliveries, created_time)
      select name, 'Cluster', selector, 3, '2026-01-01T00:00:00.000000Z'
      from (select 'dns' as name, '' as selector union all select 'slow', '' union all select 'idle', 'region=none') as groups`,
    sql`insert into events (id, resource_id, kind, generation, reason, document, time, taken_time)
      select ${cluster} || '.1', ${cluster}, 'Cluster', 1, 'Aged', ${documentOf('Cluster', cluster)}, ${time},
        case when n % 4 < 2 then ${time} end from ${all}`,
    sql`insert into event_deliveries (consumer, event_sequence, visible_time, deliveries, claim, dead_time)
      select case when n % 4 = 1 then 'slow' else 'dns' end, ${sequence} + n,
        case when n % 4 = 1 then '2999-01-01T00:00:00.000000Z' else '1970-01-01T00:00:00.000000Z' end,
        case when n % 4 < 2 then 1 else 0 end, case when n % 4 = 1 then 'x' end, case when n % 4 = 0 then ${time} end from ${all}`,
    sql`insert into event_recipients (resource_id, consumer) select ${cluster}, 'dns' from ${all}`,
  ]
  await kysely.transaction().execute(async (transaction) => {
    // On a busy machine it takes longer than a statement of the API may.
    if (isPostgres) await sql`set local statement_timeout = 0`.execute(transaction)
    for (const statement of fills) await statement.execute(transaction)
  })
  // What autovacuum does in the background.
  await (isPostgres ? sql`vacuum analyze` : sql`analyze`).execute(kysely)
}
