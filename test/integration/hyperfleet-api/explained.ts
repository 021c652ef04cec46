import { sql } from 'kysely'
import type { Database } from '#services/hyperfleet-api/storage/database.ts'
import { compileText, type SqlText } from '#services/hyperfleet-api/storage/sql-text.ts'

export const ROWS = 20_000
/** Milliseconds that a busy machine may take to fill them in. */
export const FILLING_MS = 240_000

/**
 * 20,000 clusters as a fleet has them: 20 regions, one in a hundred not ready, last reported over a day. Written by SQL,
 * because only what the planner sees of them matters here.
 */
export const fill = async ({ kysely, dialect }: Database): Promise<void> => {
  const numbers =
    dialect === 'postgres'
      ? sql`select n from generate_series(1, ${sql.lit(ROWS)}) as t(n)`
      : sql`with recursive t(n) as (select 1 union all select n + 1 from t where n < ${sql.lit(ROWS)}) select n from t`
  const padded = dialect === 'postgres' ? sql`lpad(n::text, 8, '0')` : sql`printf('%08d', n)`
  const time = sql`'2026-01-01T00:' || substr(${padded}, 3, 2) || ':' || substr(${padded}, 5, 2) || '.' || substr(${padded}, 3) || 'Z'`
  // About as long as a real one, or reading the whole table would be as cheap as it isn't.
  const document = sql`'{"id":"' || ${padded} || '","spec":{"region":{"zone":"zone-' || (n % 200) || '"},"more":"${sql.raw('0123456789'.repeat(130))}"}}'`
  const from = sql`from (${numbers}) as numbers`
  const fills = [
    sql`insert into resources (id, kind, name, href, generation, created_time, updated_time, created_by, updated_by, tenancy, document)
      select 'id-' || ${padded}, 'Cluster', 'name-' || n, '', 1, ${time}, ${time}, 'a', 'a', '{}', ${document} ${from}`,
    sql`insert into resource_labels (resource_id, kind, created_time, key, value)
      select 'id-' || ${padded}, 'Cluster', ${time}, 'region', 'region-' || (n % 20) ${from}
      union all select 'id-' || ${padded}, 'Cluster', ${time}, 'owner', 'team-' || (n % 300) ${from}
      union all select 'id-' || ${padded}, 'Cluster', ${time}, 'stage', 'prod' ${from}`,
    sql`insert into resource_conditions
        (resource_id, kind, created_time, type, status, observed_generation, last_updated_time, last_transition_time)
      select 'id-' || ${padded}, 'Cluster', ${time}, 'Ready', case when n % 100 = 0 then 'False' else 'True' end, 1, ${time}, ${time} ${from}`,
  ]
  await kysely.transaction().execute(async (transaction) => {
    // On a busy machine it takes longer than a statement of the API may.
    if (dialect === 'postgres') await sql`set local statement_timeout = 0`.execute(transaction)
    for (const statement of fills) await statement.execute(transaction)
  })
  // What autovacuum does in the background.
  await (dialect === 'postgres' ? sql`vacuum analyze` : sql`analyze`).execute(kysely)
}

/** The lines of a query's plan, or with an option of PostgreSQL what that says instead. */
export const explain = async <Line>({ kysely, dialect }: Database, query: SqlText, options = ''): Promise<Line[]> => {
  const compiled = compileText(dialect, query)
  const keyword = dialect === 'postgres' ? `explain ${options}` : 'explain query plan'
  const { rows } = await kysely.executeQuery<Record<string, Line>>({ ...compiled, sql: `${keyword} ${compiled.sql}` })
  return rows.flatMap((row) => (dialect === 'postgres' ? row['QUERY PLAN'] : row.detail) ?? [])
}

/** A part of a plan as PostgreSQL tells it after it was executed. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Subplan Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

const scansOf = (node: PlanNode): PlanNode[] => [
  ...('Relation Name' in node || node['Node Type'] === 'Bitmap Index Scan' ? [node] : []),
  ...(node.Plans ?? []).flatMap(scansOf),
]

/** How many entries of indexes and rows were looked at, whether they fitted or not. */
export const rowsRead = (nodes: readonly PlanNode[]): number =>
  nodes.reduce(
    (sum, node) =>
      sum +
      node['Actual Loops'] *
        (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)),
    0,
  )

/** What a query reads for its page, and not for its total. */
export const executedScans = async (database: Database, query: SqlText) => {
  const [plan] = await explain<{ readonly Plan: PlanNode }>(database, query, '(analyze, timing off, format json)')
  if (plan === undefined) throw new Error('PostgreSQL explains every query')
  const root = plan.Plan
  const isTotal = (node: PlanNode): boolean => node['Subplan Name']?.startsWith('InitPlan') === true
  return { page: (root.Plans ?? []).filter((node) => !isTotal(node)).flatMap(scansOf) }
}

/** Rows and entries of indexes that statements of this database have looked at so far, as its server counts them. */
export const countRowsRead = async ({ kysely }: Database): Promise<number> => {
  // Statements follow each other on one connection, which has what it counted told at its next end of a statement.
  await sql`select pg_stat_force_next_flush()`.execute(kysely)
  const { rows } = await sql<{ count: number }>`select (
      (select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)
      + (select sum(idx_tup_read) from pg_stat_user_indexes))::bigint as count`.execute(kysely)
  return rows[0]?.count ?? 0
}
