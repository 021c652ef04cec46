import { randomBytes } from 'node:crypto'
import { Kysely, sql } from 'kysely'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { migrations } from '#services/hyperfleet-api/storage/layout/migrations.ts'
import { listPage } from '#services/hyperfleet-api/storage/list.ts'
import { openPostgres } from '#services/hyperfleet-api/storage/postgres.ts'
import { postgresMissing } from '#test/harness/index.ts'
import { freshPostgres, serve } from './support.ts'

describe.skipIf(findPostgres() === undefined)(
  `on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    /** An empty database that sorts as English does: letters first, then case, then hyphens. */
    const english = async (): Promise<string> => {
      const { databaseUrl } = await freshPostgres()
      const name = `english_${randomBytes(6).toString('hex')}`
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await client.query(
        `create database ${name} template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US' locale 'C'`,
      )
      await client.end()
      const url = new URL(databaseUrl)
      url.pathname = name
      return url.toString()
    }

    test('set up for English, lists and searches go by bytes, as everywhere', async () => {
      const api = await serve({ databaseUrl: await english() })
      for (const name of ['a-c', 'ab', 'abd', 'a1'])
        await api.cluster(name.padEnd(3, '0'), { case: name.toUpperCase() })
      const names = async (query: string) =>
        (await api.call('GET', `/clusters?${query}`)).body.items.map(({ name }: { name: string }) => name)
      expect(await names('order=name')).toEqual(['a-c', 'a10', 'ab0', 'abd'])
      expect(await names(`order=name&search=${encodeURIComponent("name > 'a1'")}`)).toEqual(['a10', 'ab0', 'abd'])
      expect(await names(`order=name&search=${encodeURIComponent("labels.case < 'a' and name = 'abd'")}`)).toEqual([
        'abd',
      ])
    })

    test('a database from before is counted and its specs are found', async () => {
      const { databaseUrl } = await freshPostgres()
      const kysely = new Kysely<unknown>({ dialect: openPostgres(databaseUrl, () => {}).dialect })
      await sql`create table migrations (name text primary key)`.execute(kysely)
      for (const migration of migrations.filter(({ name }) => name < '0009')) {
        for (const statement of migration.statements('postgres')) await statement.execute(kysely)
        await sql`insert into migrations (name) values (${migration.name})`.execute(kysely)
      }
      const document = JSON.stringify({ id: 'x', spec: { zone: 'a' } })
      const time = '2026-01-01T00:00:00.000000Z'
      await sql`insert into resources (id, kind, name, href, generation, created_time, updated_time, created_by, updated_by, tenancy, document)
      values ('x', 'Cluster', 'x', '', 1, ${time}, ${time}, '', '', '{}', ${document})`.execute(kysely)
      await kysely.destroy()

      const database = await openDatabase({ databaseUrl, onError: () => {} })
      onTestFinished(() => database.close())
      const page = { order: [], size: 10, from: { offset: 0 } }
      const all = await listPage(database, { ...page, filter: { kind: 'Cluster' } })
      const found = await listPage(database, {
        ...page,
        filter: { kind: 'Cluster', search: parseSearch("spec.zone = 'a'") },
      })
      expect([all, found]).toEqual(Array(2).fill({ rows: [expect.objectContaining({ document })], total: 1 }))
    })
  },
)
