import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { migrations } from '#services/hyperfleet-api/storage/layout/migrations.ts'
import { type MusterProcess, manualClock, postgresMissing, startMuster } from '#test/harness/index.ts'
import { freshPostgres, openWatch, requestTo, serve, temporaryData } from './support.ts'

/**
 * `upgrade/` holds what the first released version left and did. The layouts are its own, SQLite's with its data. The
 * statements are those that it sent to PostgreSQL in one life, recorded at the driver with the parameters, in their order,
 * and with the number of rows that each gave: create, patch, report, events, claims, dead letters, delete, lists, the feed,
 * retention.
 */
const released = (file: string) => readFile(join(import.meta.dirname, 'upgrade', file), 'utf8')

/** Five minutes after what the recorded replica did. */
const soonAfter = () => manualClock('2026-11-01T00:05:00Z')

interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
  readonly rows: number
}

const NOWHERE = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']

const program = async (...args: readonly string[]): Promise<MusterProcess> => {
  const muster = await startMuster(['api', ...NOWHERE, ...args])
  onTestFinished(async () => void (await muster.stop()))
  return muster
}

const connect = async (url: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const firstLayout = async () => {
  const { databaseUrl } = await freshPostgres()
  const client = await connect(databaseUrl)
  await client.query(await released('first-layout.postgres.sql'))
  return { databaseUrl, client }
}

const missing = findPostgres() === undefined
describe.skipIf(missing)(`on PostgreSQL${missing ? ` (skipped: ${postgresMissing()})` : ''}`, () => {
  test.each([
    ['an empty database', freshPostgres],
    ['the first released layout', firstLayout],
  ])('four processes that start at once on %s bring it up to date once, and all serve', async (_name, prepare) => {
    const { databaseUrl } = await prepare()
    const processes = await Promise.all([1, 2, 3, 4].map(() => program(`--database-url=${databaseUrl}`)))
    const lines = await Promise.all(processes.map((muster) => muster.line('the HyperFleet API is serving')))
    const [first, ...others] = lines.map(({ url }) => requestTo(`${String(url)}/api/hyperfleet/v1`))
    expect((await first?.('POST', '/clusters', { name: 'one', spec: {} }))?.status).toBe(201)
    for (const request of others) expect((await request('GET', '/clusters')).body.total).toBe(1)
    const { rows } = await (await connect(databaseUrl)).query('select name from migrations order by name')
    expect(rows.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name).toSorted())
  })

  test('API-152: documents are compressed by lz4 from now on, where the server has it; those from before stay as they are', async () => {
    const { databaseUrl, client } = await firstLayout()
    const settings = await client.query(`select enumvals from pg_settings where name = 'default_toast_compression'`)
    const hasLz4 = settings.rows[0]?.enumvals?.includes('lz4') === true
    const spec = { note: 'x'.repeat(10_000) }
    const document = JSON.stringify({ spec })
    await client.query(
      `insert into changes (type, resource_id, kind, labels_before, labels, document, time)
        values ('added', 'old', 'Cluster', '{}', '{}', $1, '2026-11-01T00:00:00.000000Z')`,
      [document],
    )
    const api = await serve({ databaseUrl }, soonAfter())
    await api.call('POST', '/clusters', { name: 'new', spec })
    const howOf = async (table: string) =>
      (await client.query(`select pg_column_compression(document) as how, document from ${table} limit 1`)).rows[0]
    const [old, created] = [await howOf(`changes where resource_id = 'old'`), await howOf('resources')]
    expect([old.how, created.how]).toEqual(['pglz', hasLz4 ? 'lz4' : 'pglz'])
    expect([JSON.parse(old.document).spec, JSON.parse(created.document).spec]).toEqual([spec, spec])
    if (!hasLz4) return
    const { rows } = await client.query(
      `select attrelid::regclass::text as "table" from pg_attribute where attcompression = 'l' order by 1`,
    )
    expect(rows.map(({ table }) => table)).toEqual(['adapter_statuses', 'archive', 'changes', 'events', 'resources'])
  })

  test('a rolling upgrade: the first released version goes on beside a new replica, which sees all that it does', async () => {
    const { databaseUrl, client: old } = await firstLayout()
    const api = await serve({ databaseUrl }, soonAfter())
    const stream = await openWatch(api, '/clusters?watch=true&fields=name')
    const text = await released('first-replica.jsonl')
    const statements = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Statement)
    for (const { sql, values, rows } of statements)
      expect([sql, (await old.query(sql, [...values])).rows.length]).toEqual([sql, rows])

    const seen = await stream.until(({ type }) => type === 'deleted')
    expect(seen.map(({ type, object }) => `${type} ${object.name ?? ''}`)).toEqual([
      'bookmark ',
      'added one',
      'added two',
      'modified one',
      'modified one',
      'modified one',
      'deleted one',
    ])
    const { items } = (await api.call('GET', '/clusters')).body
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['two'])
    // It had acknowledged the first of three events, and replayed the second from the dead letters.
    const claims = (await api.call('POST', '/events/consumers/dns/claims', { max: 10 })).body.items
    expect(claims.map(({ event }: { event: { data: { reason: string } } }) => event.data.reason)).toEqual([
      'SpecChanged',
      'Left',
    ])

    // What the new replica writes, the old one's statements read and change.
    const { id } = await api.cluster('three', { region: 'eu' })
    expect((await api.report(`/clusters/${id}`, { adapter: 'dns' })).status).toBe(201)
    expect(
      (await api.call('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' })).status,
    ).toBe(201)
    for (const { sql, values } of statements.filter((statement) => statement.sql.startsWith('select')))
      await old.query(
        sql,
        values.map((value) => (value === items[0].id ? id : value)),
      )
    const [{ document }] = (await old.query('select "document" from "resources" where "id" = $1', [id])).rows
    expect(JSON.parse(document).status.phase).toBe('Ready')

    // API-102: every label and condition says when its resource was made, those that the old replica wrote too.
    for (const table of ['resource_labels', 'resource_conditions']) {
      const { rows } = await old.query(`select beside.created_time = resources.created_time as "isKnown"
        from ${table} as beside left join resources on resources.id = resource_id`)
      expect(rows.map(({ isKnown }) => isKnown)).toEqual(Array(rows.length).fill(true))
      expect(rows.length).toBeGreaterThan(0)
    }
  })

  test('a layout that is newer than the program knows is refused in one line', async () => {
    const { databaseUrl, client } = await firstLayout()
    await client.query(`insert into migrations values ('9999-future')`)
    const muster = await program(`--database-url=${databaseUrl}`)
    expect((await muster.exited).code).toBe(1)
    expect(muster.output()).toMatch(
      /^muster: --database-url: the database 127\.0\.0\.1:\d+\/\w+ can't be used: its layout is newer than this program knows \(9999-future\): run the version that made it, or a newer one$/,
    )
    expect((await client.query('select name from migrations')).rows).toHaveLength(4)
  })
})

describe('on SQLite', () => {
  const firstData = async () => {
    const { dataDir } = await temporaryData()
    const database = new DatabaseSync(join(dataDir, 'hyperfleet.sqlite'), { enableForeignKeyConstraints: false })
    database.exec(await released('first-layout.sqlite.sql'))
    return { dataDir, database }
  }

  test('data of the first released version is there after the upgrade, and its events wait', async () => {
    const { dataDir, database } = await firstData()
    database.close()
    const api = await serve({ dataDir }, soonAfter())
    expect((await api.call('GET', '/clusters')).body.items).toMatchObject([{ name: 'two' }])
    const claims = (await api.call('POST', '/events/consumers/dns/claims', { max: 10 })).body.items
    expect(claims).toMatchObject([
      { event: { data: { reason: 'SpecChanged' } } },
      { event: { data: { reason: 'Left' } } },
    ])
  })

  test('a layout that is newer than the program knows is refused in one line', async () => {
    const { dataDir, database } = await firstData()
    database.exec(`insert into migrations values ('9999-future')`)
    database.close()
    const muster = await program(`--data-dir=${dataDir}`)
    expect((await muster.exited).code).toBe(1)
    expect(muster.output()).toBe(
      `muster: --data-dir: the database in ${dataDir} can't be used: its layout is newer than this program knows (9999-future): run the version that made it, or a newer one`,
    )
  })
})
