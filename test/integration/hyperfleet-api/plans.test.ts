import { type RawBuilder, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import type { Filter } from '#services/hyperfleet-api/storage/compile-filter.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { countedPageQuery, type Order, type Page } from '#services/hyperfleet-api/storage/list.ts'
import { freshPostgres } from './support.ts'

const ROWS = 20_000

/**
 * 20,000 clusters as a fleet has them: 20 regions, one in a hundred not ready, last reported over a day. Written by SQL,
 * because only what the planner sees of them matters here.
 */
const fill = async ({ kysely, dialect }: Database): Promise<void> => {
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
  for (const statement of fills) await statement.execute(kysely)
  // What autovacuum does in the background.
  await (dialect === 'postgres' ? sql`vacuum analyze` : sql`analyze`).execute(kysely)
}

/** The lines of a query's plan, or with an option of PostgreSQL what that says instead. */
const explain = async <Line>(
  { kysely, dialect }: Database,
  query: RawBuilder<unknown>,
  options = '',
): Promise<Line[]> => {
  const compiled = query.compile(kysely)
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
const rowsRead = (nodes: readonly PlanNode[]): number =>
  nodes.reduce(
    (sum, node) =>
      sum +
      node['Actual Loops'] *
        (node['Actual Rows'] +
          (node['Rows Removed by Filter'] ?? 0) +
          (node['Rows Removed by Index Recheck'] ?? 0)),
    0,
  )

/** What a query reads for its page, and what for its total. */
const executedScans = async (database: Database, query: RawBuilder<unknown>) => {
  const [plans] = await explain<readonly { readonly Plan: PlanNode }[]>(
    database,
    query,
    '(analyze, timing off, format json)',
  )
  const root = plans?.[0]?.Plan
  if (root === undefined) throw new Error('PostgreSQL explains every query')
  const isTotal = (node: PlanNode): boolean => node['Subplan Name']?.startsWith('InitPlan') === true
  const total = (root.Plans ?? []).filter(isTotal).flatMap(scansOf)
  const page = (root.Plans ?? []).filter((node) => !isTotal(node)).flatMap(scansOf)
  return { page, total, rows: root['Actual Rows'] }
}

/** What reads a whole table in a query's plan, by table. */
const wholeTables = async (database: Database, query: RawBuilder<unknown>): Promise<string[]> => {
  const { dialect } = database
  return (await explain<string>(database, query)).filter((line) =>
    dialect === 'postgres'
      ? /Seq Scan on/.test(line)
      : // A subquery's own result is small and has no index to use; the counts are a row a kind; nothing indexes JSON.
        /^SCAN (?!\(|SUBQUERY|resource_counts|resource_specs)/.test(line) && !/USING (COVERING )?INDEX/.test(line),
  )
}

const databases = [
  { name: 'SQLite', skip: false, choice: async () => ({}) },
  { name: 'PostgreSQL', skip: findPostgres() === undefined, choice: freshPostgres },
]

for (const { name, skip, choice } of databases)
  describe.skipIf(skip)(`with ${ROWS} resources on ${name}`, () => {
    const open = async () => {
      const database = await openDatabase({ ...(await choice()), onError: () => {} })
      onTestFinished(() => database.close())
      await fill(database)
      return database
    }
    const search = (text: string) => ({ search: parseSearch(text) })
    const filters: Record<string, Omit<Filter, 'kind'>> = {
      everything: {},
      'one region': { labels: parseSelector('region=region-7') },
      'two regions': { labels: parseSelector('region in (region-7,region-8)') },
      'a label that nothing has': { labels: parseSelector('tier=prod') },
      'one region, searched': search("labels.region='region-7'"),
      'the regions of a prefix': search("labels.region like 'region-7%'"),
      'what is not ready': search("status.conditions.Ready='False'"),
      'what is not said to be ready': search("not status.conditions.Ready='True'"),
      'what is ready in a region and due': search(
        "labels.region='region-7' and status.conditions.Ready='True' and status.conditions.Ready.last_updated_time<'2026-01-01T00:00:05Z'",
      ),
      'what was changed lately': search("updated_time>='2026-01-01T00:01:59Z'"),
      'what was made in a second': search("created_time between '2026-01-01T00:00:05Z' and '2026-01-01T00:00:06Z'"),
      'what is being deleted': search('deleted_time is not null'),
      'one by name': search("name='name-77'"),
      'one by id': search("id='id-00000077'"),
      'after an id': search("id > 'id-00019900'"),
      'one tenant': { tenancy: { org: 'one' } },
      'by a value of the spec': search("spec.region.zone='zone-7'"),
    }
    const orders: Readonly<Record<string, readonly Order[]>> = {
      'newest first': [{ column: 'created_time', direction: 'desc' }],
      'by name': [{ column: 'name', direction: 'asc' }],
      'by id': [{ column: 'id', direction: 'asc' }],
    }

    test('no list and no search reads a whole table, nor does counting what it finds', async () => {
      const database = await open()
      const pages: Record<string, Omit<Page, 'filter'>> = {
        'after an id': { order: [], size: 100, from: { after: 'id-00010000' } },
        ...Object.fromEntries(
          Object.entries(orders).map(([which, order]) => [which, { order, size: 100, from: { offset: 0 } }]),
        ),
      }
      const found: Record<string, string[]> = {}
      for (const [what, narrowing] of Object.entries(filters))
        for (const [which, page] of Object.entries(pages)) {
          const query = countedPageQuery(database, { ...page, filter: { kind: 'Cluster', ...narrowing } })
          const whole = await wholeTables(database, query)
          if (whole.length > 0) found[`${what}, ${which}`] = whole
        }
      expect(found).toEqual({})
    })

    // API-100
    test('a page in the order of creation reads no more rows than it has, and the total no more than it counts', async () => {
      const database = await open()
      const inOrder: readonly (readonly [what: string, narrowing: Omit<Filter, 'kind'>, looks: number])[] = [
        ['everything', {}, 0],
        ['one region', filters['one region'] ?? {}, 1],
        ['one region, searched', filters['one region, searched'] ?? {}, 1],
        ['what is not ready', filters['what is not ready'] ?? {}, 1],
        ['what is not said to be ready', filters['what is not said to be ready'] ?? {}, 1],
        ['what is ready', search("status.conditions.Ready='True'"), 1],
        [
          'what is ready and old',
          search("status.conditions.Ready='True' and status.conditions.Ready.last_updated_time<'2027-01-01T00:00:00Z'"),
          1,
        ],
        ['what is ready in a region', search("labels.region='region-7' and status.conditions.Ready='True'"), 2],
      ]
      for (const direction of ['asc', 'desc'] as const)
        for (const [what, narrowing, looks] of inOrder) {
          const filter = { kind: 'Cluster', ...narrowing }
          const order = [{ column: 'created_time', direction }] as const
          const query = countedPageQuery(database, { filter, order, size: 100, from: { offset: 0 } })
          if (database.dialect === 'sqlite') {
            const sorts = (await explain<string>(database, query)).filter((line) => line.includes('ORDER BY'))
            expect([what, sorts]).toEqual([what, []])
            continue
          }
          const { page, total, rows } = await executedScans(database, query)
          expect([what, rows, rowsRead(page) <= rows * (looks + 1)]).toEqual([what, 100, true])
          const { rows: first } = await query.execute(database.kysely)
          const counted = Number(first[0]?.total)
          const lookedAt = what === 'everything' ? 64 : Math.max(1, looks) * counted
          expect([what, rowsRead(total) <= lookedAt]).toEqual([what, true])
          if (looks === 1) expect(total.map((node) => node['Node Type'])).toEqual(['Index Only Scan'])
        }
    })
  })
