import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import type { Filter } from '#services/hyperfleet-api/storage/compile-filter.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import type { Order, Page } from '#services/hyperfleet-api/storage/list.ts'
import { PageBuffer } from '#services/hyperfleet-api/storage/page-buffer.ts'
import { pageTextQuery } from '#services/hyperfleet-api/storage/page-text.ts'
import { executeInto, type SqlText } from '#services/hyperfleet-api/storage/sql-text.ts'
import { executedScans, explain, FILLING_MS, fill, ROWS, rowsRead } from './explained.ts'
import { freshPostgres } from './support.ts'

/** What reads a whole table in a query's plan, by table. */
const wholeTables = async (database: Database, query: SqlText): Promise<string[]> => {
  const { dialect } = database
  return (await explain<string>(database, query)).filter((line) =>
    dialect === 'postgres'
      ? /Seq Scan on (?!changes|change_floor|change_gaps)/.test(line)
      : // A subquery's own result is small and has no index to use; the counts are a row a kind; nothing indexes JSON.
        /^SCAN (?!\(|CONSTANT ROW|SUBQUERY|page|change_floor|change_gaps|resource_counts|resource_specs)/.test(line) &&
        !/USING (COVERING )?INDEX/.test(line),
  )
}

const databases = [
  { name: 'SQLite', skip: false, choice: async () => ({}) },
  { name: 'PostgreSQL', skip: findPostgres() === undefined, choice: freshPostgres },
]

for (const { name, skip, choice } of databases)
  describe.skipIf(skip)(`with ${ROWS} resources on ${name}`, () => {
    let database: Database
    beforeAll(async () => {
      database = await openDatabase({ ...(await choice()), onError: () => {} })
      await fill(database)
    }, FILLING_MS)
    afterAll(() => database.close())
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
      'one tenant without any, and a label that many have': {
        tenancy: { org: 'nothing' },
        labels: parseSelector('region=region-7'),
      },
      'by a value of the spec': search("spec.region.zone='zone-7'"),
    }
    const orders: Readonly<Record<string, readonly Order[]>> = {
      'newest first': [{ column: 'created_time', direction: 'desc' }],
      'by name': [{ column: 'name', direction: 'asc' }],
      'by id': [{ column: 'id', direction: 'asc' }],
    }

    test('no list and no search reads a whole table, nor does counting what it finds', async () => {
      const pages: Record<string, Omit<Page, 'filter'>> = {
        'after an id': { order: [], size: 100, from: { after: 'id-00010000' } },
        ...Object.fromEntries(
          Object.entries(orders).map(([which, order]) => [which, { order, size: 100, from: { offset: 0 } }]),
        ),
      }
      const found: Record<string, string[]> = {}
      for (const [what, narrowing] of Object.entries(filters))
        for (const [which, page] of Object.entries(pages)) {
          const query = pageTextQuery(database, { ...page, filter: { kind: 'Cluster', ...narrowing } })
          const whole = await wholeTables(database, query)
          if (whole.length > 0) found[`${what}, ${which}`] = whole
        }
      expect(found).toEqual({})
    })

    // API-102
    test('a page in the order of creation reads no more rows than it has, however many fit', async () => {
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
          const query = pageTextQuery(database, { filter, order, size: 100, from: { offset: 0 } })
          if (database.dialect === 'sqlite') {
            // Of two it reads what it takes for fewer, and sorts that.
            if (looks > 1) continue
            const sorts = (await explain<string>(database, query)).filter((line) => line.includes('ORDER BY'))
            expect([what, sorts]).toEqual([what, []])
            continue
          }
          const { page } = await executedScans(database, query)
          const documents = new PageBuffer()
          await executeInto(database, query, documents)
          const size = documents.count
          expect([what, size, rowsRead(page) <= size * (looks + 1)]).toEqual([what, 100, true])
        }
    })

    // After all others: their plans are those of a fleet without them.
    const onPostgres = name === 'PostgreSQL' ? test : () => undefined
    onPostgres(
      'API-195: what hardly any cluster is, and nearly everything of another kind, is known to be rare',
      async () => {
        await database.kysely.transaction().execute(async (transaction) => {
          await sql`set local session_replication_role = replica`.execute(transaction)
          await sql`insert into resource_conditions
            (resource_id, kind, created_time, type, status, observed_generation, last_updated_time, last_transition_time)
          select 'pool-' || n, 'NodePool', '2026-01-01T00:00:00Z', 'Ready', 'False', 1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'
          from generate_series(1, ${sql.lit(3 * ROWS)}) as t(n)`.execute(transaction)
        })
        await sql`analyze resource_conditions`.execute(database.kysely)
        const filter = { kind: 'Cluster', ...search("labels.region='region-7' and status.conditions.Ready='False'") }
        const order = [{ column: 'created_time', direction: 'desc' }] as const
        const { page } = await executedScans(
          database,
          pageTextQuery(database, { filter, order, size: 100, from: { offset: 0 } }),
        )
        // 200 clusters are not ready, and a region has 1,000. Without what it knows PostgreSQL looks at a condition of each of these, twice.
        expect(rowsRead(page)).toBeLessThanOrEqual(1_200)
      },
    )
  })
