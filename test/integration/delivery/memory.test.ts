/** Containers live within their memory limits under load: the shipped program with its manifest's flags, limited as kubelet does it. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { text } from 'node:stream/consumers'
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

/** Without tokens callers are told apart by address: so many fill each bound that all have together. */
const CALLERS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']
const OTHER = '127.0.0.5'
const FIELDS = ['id', 'name', 'kind', 'href', 'generation', 'status', 'labels', 'created_time']
const WRITES = 24
const ROUNDS = repetitions({ deep: 3, slice: 1 })

const send = (
  base: string,
  { method = 'GET', path, from, body }: { method?: string; path: string; from: string; body?: object | undefined },
): ClientRequest => {
  const headers = { 'content-type': 'application/json' }
  const sent = request(`${base}/api/hyperfleet/v1${path}`, { method, headers, localAddress: from, agent: false })
  sent.on('error', () => undefined)
  return sent.end(body && JSON.stringify(body))
}

// API-196
test('attack: several callers send the longest bodies at once, while streams and lists of the largest records read nothing: the API stays within its memory limit, and answers', {
  timeout: 600_000,
}, async ({ skip }) => {
  skipWithout(postgresMissing(), skip)
  await using limited = await limitedApi()
  const { ground } = limited
  const { url } = ground.server
  const ids: string[] = []
  for (const n of upTo(WRITES)) {
    const body = { name: `large-${n}`, spec: { note: 'x'.repeat(900_000) } }
    ids.push(((await ground.load.request({ method: 'POST', path: '/clusters', body })) as { id: string }).id)
  }
  const ask = (query: string) =>
    CALLERS.flatMap((from) =>
      FIELDS.map((field) => send(url, { path: `/clusters?${query}&fields=spec,${field}`, from })),
    )
  const watches = ask('watch=true')
  // A list is answered once there is room for its first record, so these wait for each other.
  const silent = [...watches, ...ask('labels=')]
  await Promise.all(watches.map((stream) => once(stream, 'response')))
  const answers = new Set<number | 'reset'>()
  const change = async (id: string, digit: number, from: string): Promise<void> => {
    const body = { spec: { note: String(digit % 10).repeat(1_000_000) } }
    try {
      const [response] = await once(send(url, { method: 'PATCH', path: `/clusters/${id}`, from, body }), 'response')
      answers.add(response.statusCode)
      await text(response)
    } catch {
      answers.add('reset')
    }
  }
  const others = async (): Promise<void> => {
    for (const { method, path, body } of [
      { path: '/clusters?size=1&fields=id,spec' },
      { method: 'PATCH', path: `/clusters/${ids[0]}`, body: { spec: { note: 'y'.repeat(900_000) } } },
      { path: '/clusters?labels=' },
    ]) {
      const [response] = await once(send(url, { method, path, from: OTHER, body }), 'response')
      await text(response)
      expect([path, response.statusCode, response.complete]).toEqual([path, 200, true])
    }
  }
  const attack = async (): Promise<void> => {
    for (const round of upTo(ROUNDS))
      await Promise.all(CALLERS.flatMap((from, caller) => ids.map((id, n) => change(id, n + caller + round, from))))
  }
  // API-204: another caller waits for its turns alone.
  await Promise.all([attack(), others()])
  // One that found no room was told so, or its connection ended while it was still sending.
  expect([...answers].filter((answer) => ![200, 409, 429, 'reset'].includes(answer))).toEqual([])
  expect(answers).toContain(200)
  for (const stream of silent) stream.destroy()
  await limited.check()
})

test('a process that needs more than its limit is killed, and that is seen', async ({ skip }) => {
  skipWithout(memoryLimitMissing(), skip)
  const group = await memoryLimit(64 * 2 ** 20)
  const [command, ...args] = [...group.prefix, process.execPath, '--eval', 'Buffer.alloc(200 * 2 ** 20, 1)']
  await expect(promisify(execFile)(command, args)).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(await group.kills()).toBe(1)
})
