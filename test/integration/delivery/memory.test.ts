/** Containers live within their memory limits under load: the shipped program with its manifest's flags, limited as kubelet does it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { postgresMissing } from '#hack/postgres/missing.ts'
import { fanOut } from '#test/bench/api/fan-out.ts'
import { createFleet, type Fleet } from '#test/bench/api/fleet.ts'
import { type Ground, onPostgres, onSqlite } from '#test/bench/api/ground.ts'
import { IN_FLIGHT } from '#test/bench/api/load.ts'
import { OPERATIONS } from '#test/bench/api/operations.ts'
import { inParallel, upTo } from '#test/bench/in-parallel.ts'
import { repetitions } from '#test/harness/deep.ts'
import { memoryLimit, memoryLimitMissing } from '#test/harness/memory-limit.ts'
import { copyCluster } from './copies.ts'
import { limitedAs, limitsMissing, skipWithout } from './limited.ts'

beforeEach(({ skip }) => skipWithout(limitsMissing(), skip))

const limitedApi = async () => {
  const { prefix, check } = await limitedAs('api')
  const ground = await onPostgres({ prefix }, [])
  return { ground, check: () => check(ground.server), [Symbol.asyncDispose]: () => ground[Symbol.asyncDispose]() }
}

const CLUSTERS = 20_000
/** One of each region, the first of which is not ready. */
const PATTERNS = 20

/** Of each operation: as the bench, which measures each for some seconds, but by number, so that a busy machine does the same work. */
const REQUESTS = 800

const loadAsTheBench = async (ground: Ground, fleet: Fleet, requests: number): Promise<void> => {
  for (const operation of OPERATIONS)
    await inParallel(upTo(requests), IN_FLIGHT, (n) => ground.load.send(operation.call(n, fleet)))
  await fanOut(ground, fleet)
}

const totalOf = async ({ load }: Ground): Promise<number> =>
  ((await load.request({ method: 'GET', path: '/clusters' })) as { total: number }).total

// GITOPS-20
test('the API with 20,000 clusters, under the load of its bench, stays within its memory limit', {
  timeout: 600_000,
}, async ({ skip }) => {
  skipWithout(postgresMissing(), skip)
  await using limited = await limitedApi()
  const { ground } = limited
  const fleet = createFleet(ground.load, { say: () => undefined })
  await fleet.growTo(PATTERNS)
  for (const n of upTo(PATTERNS))
    await copyCluster(ground.client, { of: fleet.at(n).id, name: `copy-${n}`, count: CLUSTERS / PATTERNS })
  await ground.vacuum()
  await loadAsTheBench(ground, fleet, REQUESTS)
  expect(await totalOf(ground)).toBeGreaterThan(CLUSTERS)
  await limited.check()
})

const EMBEDDED = repetitions({ deep: CLUSTERS, slice: 500 })

// GITOPS-52
test('so does the API on its embedded database, as the default install has it', {
  timeout: 600_000,
}, async () => {
  const { prefix, check } = await limitedAs('api')
  await using ground = await onSqlite({ prefix })
  const fleet = createFleet(ground.load, { say: () => undefined })
  await fleet.growTo(EMBEDDED)
  await loadAsTheBench(ground, fleet, repetitions({ deep: REQUESTS, slice: REQUESTS / 4 }))
  expect(await totalOf(ground)).toBeGreaterThan(EMBEDDED)
  await check(ground.server)
})

/** Records of nearly a megabyte, more of them than the limit has room for once over. */
const LARGE = 40
const READERS = 8
const CHANGES = 300

// API-96
test('attack: several readers at once ask for pages of the largest records, and of their archive, while all change: the API stays within its memory limit', {
  timeout: 600_000,
}, async ({ skip }) => {
  skipWithout(postgresMissing(), skip)
  await using limited = await limitedApi()
  const { ground } = limited
  const spec = { note: 'x'.repeat(900_000) }
  for (const n of upTo(LARGE))
    await ground.load.send({ method: 'POST', path: '/clusters', body: { name: `large-${n}`, spec } })
  const archived = `insert into archive (id, kind, name, tenancy, archived_time, document)
    select id, kind, name, tenancy, created_time, document from resources`
  await ground.client.query(archived)
  // As another replica's changes come, all at once.
  const changed = `insert into changes (type, resource_id, kind, labels_before, labels, document, time)
    select 'modified', one.id, one.kind, '{}', '{}', one.document, one.created_time
    from (select * from resources limit 1) one, generate_series(1, ${CHANGES})`
  await ground.client.query(changed)
  for (const path of ['/clusters?size=10', '/archive/clusters?size=10'])
    await inParallel(upTo(READERS), READERS, async () => {
      const response = await fetch(`${ground.server.url}/api/hyperfleet/v1${path}`)
      const { items, size, total } = (await response.json()) as { items: unknown[]; size: number; total: number }
      expect([response.status, items.length, size, total]).toEqual([200, 10, 10, LARGE])
    })
  // It has handed out the changes.
  const { rows } = await ground.client.query<{ newest: number }>(
    'select max(version)::double precision as newest from changes',
  )
  const head = async () =>
    (await fetch(`${ground.server.url}/api/hyperfleet/v1/clusters?size=1`)).headers.get('muster-resource-version')
  await expect.poll(head, { timeout: 60_000 }).toBe(String(rows[0]?.newest))
  await limited.check()
})

test('a process that needs more than its limit is killed, and that is seen', async ({ skip }) => {
  skipWithout(memoryLimitMissing(), skip)
  const group = await memoryLimit(64 * 2 ** 20)
  const [command, ...args] = [...group.prefix, process.execPath, '--eval', 'Buffer.alloc(200 * 2 ** 20, 1)']
  await expect(promisify(execFile)(command, args)).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(await group.kills()).toBe(1)
})
