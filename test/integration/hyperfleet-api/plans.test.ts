import { type Compilable, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import type { Filter } from '#services/hyperfleet-api/storage/compile-filter.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { countedPageQuery, type Page } from '#services/hyperfleet-api/storage/list.ts'
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
    sql`insert into resource_labels (resource_id, kind, key, value)
      select 'id-' || ${padded}, 'Cluster', 'region', 'region-' || (n % 20) ${from}
      union all select 'id-' || ${padded}, 'Cluster', 'owner', 'team-' || (n % 300) ${from}
      union all select 'id-' || ${padded}, 'Cluster', 'stage', 'prod' ${from}`,
    sql`insert into resource_conditions (resource_id, kind, type, status, observed_generation, last_updated_time, last_transition_time)
      select 'id-' || ${padded}, 'Cluster', 'Ready', case when n % 100 = 0 then 'False' else 'True' end, 1, ${time}, ${time} ${from}`,
  ]
  for (const statement of fills) await statement.execute(kysely)
  // What autovacuum does in the background.
  await (dialect === 'postgres' ? sql`vacuum analyze` : sql`analyze`).execute(kysely)
}

/** What reads a whole table in a query's plan, by table. */
const wholeTables = async ({ kysely, dialect }: Database, query: Compilable): Promise<string[]> => {
  const { sql: text, parameters } = query.compile()
  const explain = dialect === 'postgres' ? 'explain' : 'explain query plan'
  const { rows } = await kysely.executeQuery<Record<string, string>>({
    ...query.compile(),
    sql: `${explain} ${text}`,
    parameters,
  })
  const lines = rows.map((row) => (dialect === 'postgres' ? row['QUERY PLAN'] : row.detail) ?? '')
  return lines.filter((line) =>
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
    const orders = {
      'newest first': [{ column: 'created_time', direction: 'desc' }],
      'by name': [{ column: 'name', direction: 'asc' }],
      'by id': [{ column: 'id', direction: 'asc' }],
    } as const

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
  })
