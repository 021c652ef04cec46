/** A database that goes on from an earlier state. Failovers are in failover.test.ts. */
import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { systemClock } from '#operator/model/clock.ts'
import { beginRunOfServer, readFloorFor } from '#services/hyperfleet-api/feed/history.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { manualClock, postgresMissing } from '#test/harness/index.ts'
import { follow } from './follower.ts'
import { freshPostgres, openWatch, serve, type TestApi, temporaryData } from './support.ts'

const run = promisify(execFile)
const FILE = 'hyperfleet.sqlite'

const position = async (api: TestApi) =>
  Number((await api.call('GET', '/clusters?size=1')).headers.get('muster-resource-version'))
const patch = async (api: TestApi, id: string, n: number) =>
  expect((await api.call('PATCH', `/clusters/${id}`, { spec: { n } })).status).toBe(200)
const codeFrom = async (api: TestApi, version: number) => {
  const stream = await openWatch(api, `/clusters?watch=true&resourceVersion=${version}`)
  stream.close()
  return stream.status
}

// API-73
test('SQLite put back: a watcher that saw what is gone begins anew, one from before goes on, and so does one of an ordinary restart', async () => {
  const { dataDir } = await temporaryData()
  const clock = manualClock()
  const [file, copy] = [join(dataDir, FILE), join(dataDir, 'copy')]
  const serveAgain = async () => {
    await clock.advance('1s')
    return serve({ dataDir }, clock)
  }
  const first = await serveAgain()
  const { id } = await first.cluster('one')
  const beforeRestart = await position(first)
  await first.stop()
  await copyFile(file, copy)
  const second = await serveAgain()
  expect(await codeFrom(second, beforeRestart)).toBe(200)
  for (let n = 1; n <= 3; n += 1) await patch(second, id, n)
  const lost = await position(second)
  await second.stop()
  await copyFile(copy, file)
  const third = await serveAgain()
  // As many changes as would bring its versions to where they were.
  for (let n = 11; n <= 15; n += 1) await patch(third, id, n)
  expect(await position(third)).toBeGreaterThan(lost)
  expect(await codeFrom(third, lost)).toBe(410)
  expect(await codeFrom(third, lost - 1)).toBe(410)
  const stream = await openWatch(third, `/clusters?watch=true&resourceVersion=${beforeRestart}`)
  const told = await stream.until(({ type }) => type === 'bookmark')
  expect(told.map(({ object }) => object.spec?.n)).toEqual([11, 12, 13, 14, 15, undefined])
  await third.stop()
  // The changes from before are not forgotten by number for what versions skip.
  const fourth = await serveAgain()
  expect(await codeFrom(fourth, beforeRestart)).toBe(200)
  expect(await codeFrom(fourth, lost)).toBe(410)
})

test('an empty database in the place of another one: its versions are none that the other has told', async () => {
  const old = await serve()
  for (const name of ['one', 'two', 'three']) await old.cluster(name)
  const seen = await position(old)
  const empty = await serve({}, manualClock('2026-01-02T00:00:00Z'))
  for (const name of ['one', 'two', 'three', 'four']) await empty.cluster(name)
  expect(await codeFrom(empty, seen)).toBe(410)
  // From the beginning everything is there.
  expect(await codeFrom(empty, 0)).toBe(200)
})

const programs = findPostgres()
const dumpMissing = programs === undefined ? postgresMissing() : ''
describe.skipIf(programs === undefined)(`PostgreSQL restored into the same server ${dumpMissing}`, () => {
  const tool = (name: string, ...args: readonly string[]) => run(join(programs ?? '', name), args)

  // API-73
  test.each([
    ['with its tables', ['--clean', '--if-exists'], ''],
    ['with its rows alone', ['--data-only', '--disable-triggers'], 'delete'],
  ])(
    '%s, while watchers follow: they begin anew, and end with what is there',
    async (_way, options, before) => {
      const { databaseUrl } = await freshPostgres()
      const api = await serve({ databaseUrl }, systemClock)
      const [one, two] = [await api.cluster('one'), await api.cluster('two')]
      await patch(api, one.id, 1)
      const dump = join(await temporaryFolder('dump'), 'hyperfleet.dump')
      await tool('pg_dump', '--format=custom', `--file=${dump}`, databaseUrl)
      const follower = follow(api)
      for (let n = 2; n <= 5; n += 1) await patch(api, one.id, n)
      await expect.poll(() => follower.copy.get(one.id)?.spec.n, { timeout: 20_000 }).toBe(5)
      const lost = await position(api)
      if (before === 'delete') await emptyTables(databaseUrl)
      await tool('pg_restore', ...options, '--single-transaction', `--dbname=${databaseUrl}`, dump)
      // As many changes as would bring its versions to where they were.
      for (let n = 11; n <= 16; n += 1) await patch(api, two.id, n)
      await expect.poll(() => follower.copy.get(two.id)?.spec.n, { timeout: 20_000 }).toBe(16)
      expect(follower.copy.get(one.id)?.spec.n).toBe(1)
      expect(await codeFrom(api, lost)).toBe(410)
      // From here on it is one history, also for the next process.
      const { restarts } = follower
      const next = await serve({ databaseUrl }, systemClock)
      await patch(next, one.id, 21)
      await expect.poll(() => follower.copy.get(one.id)?.spec.n, { timeout: 20_000 }).toBe(21)
      expect(follower.restarts).toBe(restarts)
    },
    120_000,
  )

  test('and put back with its files: from a version that is missing, or was committed late and lost, nothing goes on', async () => {
    const database = await openDatabase({ ...(await freshPostgres()), onError: () => {} })
    onTestFinished(() => database.close())
    const { kysely } = database
    const { rows } = await sql<{ upto: number }>`select upto from change_gaps`.execute(kysely)
    const begin = rows[0]?.upto ?? 0
    await sql`insert into changes (type, resource_id, kind, labels_before, labels, document, time)
      select 'added', n::text, 'Cluster', '{}', '{}', '{}', '2026-01-01T00:00:00.000000Z'
      from generate_series(1, 9) as n`.execute(kysely)
    // The sixth was committed after the ninth, and is lost: a reader at nine had been told of it.
    await sql`delete from changes where version = ${begin + 6}`.execute(kysely)
    // Another run of the server on the same files.
    const anotherRun = async () => {
      await sql`update change_history set run = 'another', mark = pg_current_xact_id()::xid::text`.execute(kysely)
      await beginRunOfServer(kysely)
    }
    await anotherRun()
    const from = (version: number) => readFloorFor(kysely, version)
    expect(await from(begin + 5)).toBe(0)
    const next = await from(begin + 9)
    expect(next).toBeGreaterThan(begin + 9)
    expect([await from(begin + 6), await from(begin + 9), await from(next), await from(begin + 1)]).toEqual([
      next,
      next,
      0,
      0,
    ])
    // A gap between two runs is no missing version.
    await sql`insert into changes (type, resource_id, kind, labels_before, labels, document, time)
      values ('added', 'x', 'Cluster', '{}', '{}', '{}', '2026-01-01T00:00:00.000000Z')`.execute(kysely)
    await sql`delete from changes where version between ${begin + 6} and ${begin + 9}`.execute(kysely)
    await anotherRun()
    expect([await from(next + 1), await from(begin + 5)]).toEqual([0, 0])
    expect(await from(next + 2)).toBeGreaterThan(next + 2)
  })
})

/** All rows go, as where a person empties a database by hand before its rows are restored. */
const emptyTables = async (databaseUrl: string): Promise<void> => {
  const database = await openDatabase({ databaseUrl, onError: () => {} })
  await database.kysely.transaction().execute(async (writer) => {
    await sql`set local session_replication_role = replica`.execute(writer)
    const { rows } = await sql<{
      name: string
    }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(writer)
    for (const { name } of rows) await sql`delete from ${sql.table(name)}`.execute(writer)
  })
  await database.close()
}
