/** Containers live within their memory limits under load: the shipped program with its manifest's flags, limited as kubelet does it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, type TestContext, test } from 'vitest'
import { postgresMissing } from '#hack/postgres/missing.ts'
import { requireInCi } from '#hack/testing/ci.ts'
import { fanOut } from '#test/bench/api/fan-out.ts'
import { createFleet } from '#test/bench/api/fleet.ts'
import { onPostgres } from '#test/bench/api/ground.ts'
import { IN_FLIGHT } from '#test/bench/api/load.ts'
import { OPERATIONS } from '#test/bench/api/operations.ts'
import { deployedMemory } from '#test/bench/deployed.ts'
import { inParallel, upTo } from '#test/bench/in-parallel.ts'
import { memoryLimit, memoryLimitMissing } from '#test/harness/memory-limit.ts'

/** A defence that is not tried in CI counts as one that does not hold. */
const skipWithout = (missing: string | undefined, skip: TestContext['skip']): void => {
  requireInCi(missing)
  if (missing !== undefined) skip(missing)
}

const limitedApi = async () => {
  const group = await memoryLimit(deployedMemory('api').limit)
  const ground = await onPostgres({ prefix: group.prefix }, [])
  return { group, ground, [Symbol.asyncDispose]: () => ground[Symbol.asyncDispose]() }
}

const CLUSTERS = 20_000

/** A cluster that the API has made, so many times, under other names: through the API it would take minutes. */
const COPIES = (table: string, columns: string, copied: string) =>
  `insert into ${table} (${columns}) select ${copied} from ${table} t, one, generate_series(1, ${CLUSTERS}) n where `

const SEED = [
  `create temporary table one as select id, name from resources where kind = 'Cluster' order by id limit 1`,
  `create function other(text, bigint) returns text language sql immutable as $$ select left($1, length($1) - 5) || lpad($2::text, 5, '0') $$`,
  `${COPIES(
    'resources',
    'id, kind, name, href, generation, created_time, updated_time, created_by, updated_by, tenancy, document, event_count',
    `other(t.id, n), kind, 'copy-' || n, replace(href, t.id, other(t.id, n)), generation, created_time, updated_time,
     created_by, updated_by, tenancy, replace(replace(document, t.id, other(t.id, n)), '"' || t.name || '"', '"copy-' || n || '"'), event_count`,
  )} t.id = one.id`,
  `${COPIES('resource_labels', 'resource_id, kind, key, value', 'other(resource_id, n), kind, key, value')} resource_id = one.id`,
  `${COPIES(
    'resource_conditions',
    'resource_id, kind, type, status, observed_generation, last_updated_time, last_transition_time',
    'other(resource_id, n), kind, type, status, observed_generation, last_updated_time, last_transition_time',
  )} resource_id = one.id`,
  `${COPIES('adapter_statuses', 'resource_id, adapter, document', 'other(resource_id, n), adapter, document')} resource_id = one.id`,
]

/** Of each operation: as the bench, which measures each for some seconds, but by number, so that a busy machine does the same work. */
const REQUESTS = 800

// GITOPS-20
test('the API with 20,000 clusters, under the load of its bench, stays within its memory limit', {
  timeout: 600_000,
}, async ({ skip }) => {
  skipWithout(memoryLimitMissing() ?? postgresMissing(), skip)
  await using limited = await limitedApi()
  const { group, ground } = limited
  const fleet = createFleet(ground.load, { say: () => undefined })
  await fleet.growTo(20)
  for (const statement of SEED) await ground.client.query(statement)
  await ground.vacuum()

  for (const operation of OPERATIONS)
    await inParallel(upTo(REQUESTS), IN_FLIGHT, (n) => ground.load.send(operation.call(n, fleet)))
  const { total } = (await ground.load.request({ method: 'GET', path: '/clusters' })) as { total: number }
  expect(total).toBeGreaterThan(CLUSTERS)
  await fanOut(ground, fleet)

  expect(await group.kills()).toBe(0)
  // It was in it.
  expect(await group.peak()).toBeGreaterThan(64 * 2 ** 20)
})

/** Records of nearly a megabyte, more of them than the limit has room for once over. */
const LARGE = 40
const READERS = 8
const CHANGES = 300

// API-96
test('attack: several readers at once ask for pages of the largest records, and of their archive, while all change: the API stays within its memory limit', {
  timeout: 600_000,
}, async ({ skip }) => {
  skipWithout(memoryLimitMissing() ?? postgresMissing(), skip)
  await using limited = await limitedApi()
  const { group, ground } = limited
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
  expect(await group.kills()).toBe(0)
})

test('a process that needs more than its limit is killed, and that is seen', async ({ skip }) => {
  skipWithout(memoryLimitMissing(), skip)
  const group = await memoryLimit(64 * 2 ** 20)
  const [command, ...args] = [...group.prefix, process.execPath, '--eval', 'Buffer.alloc(200 * 2 ** 20, 1)']
  await expect(promisify(execFile)(command, args)).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(await group.kills()).toBe(1)
})
