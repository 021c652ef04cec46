import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { createHyperFleetClient } from '#services/hyperfleet-api/client/client.ts'
import { heldBytes, openConnection } from '../hyperfleet-api/connections.ts'
import { bearer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { openWatch, serve, type TestApi } from '../hyperfleet-api/support.ts'

// API-83
test('attack: one caller holds so many requests under way that none is left for the others', async () => {
  const issuer = await testIssuer()
  const api = await serve({ issuers: [issuer.settings], inFlight: { total: 4, perCaller: 3 } })
  const headersOf = async (sub: string) => bearer(await issuer.token({ sub, roles: ['editor'] }))
  const [busy, second, third] = [await headersOf('busy'), await headersOf('second'), await headersOf('third')]
  /** A request that never sends the body that it announces. */
  const begin = async ({ authorization }: Record<string, string>): Promise<Socket> => {
    const socket = await openConnection(api)
    socket.write(
      `POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Length: 100\r\n\r\n`,
    )
    return socket
  }
  const list = async (headers: Record<string, string>) => await api.call('GET', '/clusters', undefined, headers)
  const becomes = (headers: Record<string, string>, status: number) =>
    vi.waitUntil(async () => (await list(headers)).status === status, { timeout: 30_000 })
  const held = await Promise.all([begin(busy), begin(busy), begin(busy), begin(busy)])
  await becomes(busy, 429)
  const refused = await list(busy)
  expect([refused.body.code, refused.headers.get('retry-after')]).toEqual(['HYPERFLEET-LMT-001', '1'])
  await begin(second)
  expect((await list(third)).status).toBe(200)
  for (const socket of held) socket.destroy()
  await becomes(busy, 200)
})

const METRICS = { host: '127.0.0.1', port: 0 }
const MIB = 1024 * 1024

// API-162
test('attack: streams ask for the same change in other parts each, and read nothing: they hold no more than there is room for, and miss nothing', async () => {
  const api = await serve({ metrics: METRICS, streamBytes: MIB })
  const parts = ['id', 'name', 'kind', 'href', 'generation', 'status']
  const shapes = parts.flatMap((first) => parts.map((second) => [...new Set(['spec', first, second])].join()))
  const paths = shapes.map((fields) => `/clusters?watch=true&fields=${fields}`)
  const { id } = await api.cluster('one')
  const sockets = await Promise.all(paths.map((path) => silentReader(api, path)))
  const filler = 'x'.repeat(900_000)
  for (let n = 0; n < 2; n += 1) await api.call('PATCH', `/clusters/${id}`, { spec: { n, filler } })
  // The change has been handed to streams when one that reads has it.
  const reader = await openWatch(api, '/clusters?watch=true&fields=generation&resourceVersion=0')
  await reader.until(({ object }) => object.generation === 3)
  for (const name of ['live', 'stream'] as const) expect(await heldBytes(api, name)).toBeLessThanOrEqual(MIB + 1_000)
  for (const socket of sockets) {
    const versions: string[] = []
    socket.setEncoding('utf8')
    let received = ''
    for await (const chunk of socket) {
      received += chunk
      versions.splice(0, Infinity, ...(received.match(/"n":\d/g) ?? []))
      if (versions.length === 2) break
    }
    expect(versions).toEqual(['"n":0', '"n":1'])
  }
  reader.close()
  await vi.waitFor(async () => expect([await heldBytes(api, 'live'), await heldBytes(api, 'stream')]).toEqual([0, 0]))
}, 120_000)

// API-161
test('attack: bodies that do not come take the memory, or the turn, of others', async () => {
  const issuer = await testIssuer()
  const api = await serve({ issuers: [issuer.settings], metrics: METRICS })
  const headersOf = async (sub: string) => bearer(await issuer.token({ sub, roles: ['editor'] }))
  const [busy, other] = [await headersOf('busy'), await headersOf('other')]
  const sockets = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const socket = await openConnection(api)
      socket.write(
        `POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nAuthorization: ${busy.authorization}\r\nContent-Length: ${MIB}\r\n\r\n{`,
      )
      return socket
    }),
  )
  await vi.waitFor(async () => expect(await heldBytes(api, 'body')).toBe(2 * MIB))
  const large = { name: 'large', spec: { filler: 'x'.repeat(900_000) } }
  expect((await api.call('POST', '/clusters', large, other)).status).toBe(201)
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(async () => expect(await heldBytes(api, 'body')).toBe(0))
  expect((await api.call('POST', '/clusters', { ...large, name: 'second' }, busy)).status).toBe(201)
}, 60_000)

/** A watch that was let in, and of which nothing is read. */
const silentReader = async (api: TestApi, path: string): Promise<Socket> => {
  const socket = await openConnection(api)
  socket.write(`GET /api/hyperfleet/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

// API-84
test('attack: a request of a megabyte that is wrong all over is answered with as much and more', async () => {
  const api = await serve()
  const size = 1024 * 1024
  const conditions = Array.from({ length: 300_000 }, () => 0)
  const labels = Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`-${at}`, '']))
  const attacks: [string, string, object][] = [
    ['PUT', '/clusters/none/statuses', { adapter: 'dns', observed_generation: 1, conditions }],
    ['POST', '/clusters', { name: 'one', spec: {}, labels }],
    ['PATCH', '/clusters/none', { spec: {}, ['x'.repeat(900_000)]: 1 }],
    ['POST', '/clusters', { name: 'x'.repeat(900_000), spec: {} }],
    ['POST', '/clusters', { name: 'one', spec: {}, labels: { ['-'.repeat(900_000)]: 'a' } }],
  ]
  for (const [method, path, body] of attacks) {
    const text = JSON.stringify(body)
    expect(text.length).toBeLessThan(size)
    const answer = await api.call(method, path, text)
    expect([answer.status, JSON.stringify(answer.body).length < 128 * 1024]).toEqual([400, true])
  }
})

test('a small request that is wrong in several places is told all of them', async () => {
  const api = await serve()
  const { body } = await api.call('PUT', '/clusters/none/statuses', { conditions: [{ type: '' }, { status: 'Maybe' }] })
  expect(body.errors.length).toBeGreaterThan(4)
})

/** So many are more than a page may have; a hundred would take ten seconds to make. */
const LARGE = 28

// API-173
test('attack: a page of records of a megabyte each is asked for: it is refused with the size that fits, and clients of ours take it in parts', async () => {
  const api = await serve()
  const spec = { filler: 'x'.repeat(MIB - 1_000) }
  const create = async (n: number) =>
    expect((await api.call('POST', '/clusters', { name: `large-${n}`, spec })).status).toBe(201)
  for (let n = 0; n < LARGE; n += 4) await Promise.all([n, n + 1, n + 2, n + 3].map(create))
  const refused = await api.call('GET', '/clusters?size=100')
  expect([refused.status, refused.body.code]).toEqual([413, 'HYPERFLEET-LMT-007'])
  expect(refused.body.errors).toEqual([{ field: 'size', message: 'must be at most 15 for these records' }])
  const { body } = await api.call('GET', '/clusters?size=15&fields=id')
  expect([body.items.length, body.total]).toEqual([15, LARGE])
  // As a Sentinel asks.
  const client = createHyperFleetClient({ url: api.url, timeout: 60_000, userAgent: 'test', clock: systemClock })
  const query = { size: '100', fields: 'id,name', after: '' }
  const { items } = await client.list('clusters', query, new AbortController().signal)
  expect(new Set(items.map((item) => (item as { readonly name: string }).name)).size).toBe(LARGE)
  await client.close()
}, 120_000)

/** How many requests the API has answered, to the last byte. */
const answered = async ({ metricsUrl }: TestApi): Promise<number> => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const counts = text.matchAll(/^hyperfleet_api_requests_total\{.*\} (\d+)/gm)
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Sends a request again and again on one connection, reading nothing, until the system takes no more of the answers and the API keeps one. */
const leaveUnread = async (api: TestApi, caller: number, request: string): Promise<Socket> => {
  const socket = await openConnection(api, caller)
  socket.pause()
  for (;;) {
    const before = await answered(api)
    socket.write(request)
    try {
      await vi.waitUntil(async () => (await answered(api)) > before, { timeout: 250, interval: 5 })
    } catch {
      return socket
    }
  }
}

// API-205
test('attack: several callers ask for a record of a megabyte on many connections and read nothing: the API holds no more than there is room for, and others are served', async () => {
  const answerBytes = 2 * MIB
  const api = await serve({ metrics: METRICS, answerBytes }, systemClock)
  const body = { name: 'large', spec: { filler: 'x'.repeat(1_000_000) } }
  const { id } = (await api.call('POST', '/clusters', body)).body
  const request = `GET /api/hyperfleet/v1/clusters/${id} HTTP/1.1\r\nHost: a\r\n\r\n`
  const sockets: Socket[] = []
  // A busy machine takes an answer late.
  for (const caller of [2, 3])
    while ((await heldBytes(api, 'answer')) < (caller - 1) * 1_000_000)
      sockets.push(await leaveUnread(api, caller, request))
  // No room for one more.
  expect(await heldBytes(api, 'answer')).toBeGreaterThan(answerBytes - MIB / 8)
  for (const caller of [2, 3, 4, 5])
    for (let n = 0; n < 10; n += 1) {
      const socket = await openConnection(api, caller)
      socket.pause()
      socket.write(request)
      sockets.push(socket)
    }
  const others = Promise.all([
    api.call('GET', `/clusters/${id}`),
    api.call('POST', '/clusters', { ...body, name: 'other' }),
  ])
  expect((await others).map(({ status }) => status)).toEqual([200, 201])
  expect(await heldBytes(api, 'answer')).toBeLessThan(4 * answerBytes)
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(async () => expect(await heldBytes(api, 'answer')).toBe(0))
}, 60_000)

// API-204
test('attack: callers send all that they announced, and read nothing of the answer: they keep room for bodies only until others wait for it', async () => {
  const api = await serve({ metrics: METRICS }, systemClock)
  const filler = 'x'.repeat(1_000_000)
  const { id } = (await api.call('POST', '/clusters', { name: 'large', spec: { filler } })).body
  const patch = `PATCH /api/hyperfleet/v1/clusters/${id} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`
  const request = `${patch}14\r\n{"labels":{"a":"b"}}\r\n0\r\n\r\n`
  for (const caller of [2, 3, 4, 5])
    while ((await heldBytes(api, 'body')) < (caller - 1) * 2 * MIB) await leaveUnread(api, caller, request)
  expect(await heldBytes(api, 'body')).toBe(8 * MIB)
  expect((await api.call('POST', '/clusters', { name: 'other', spec: { filler } })).status).toBe(201)
}, 60_000)

// API-205
test('attack: costly searches of several callers wait for their turns: they keep no room for answers from others meanwhile', async () => {
  const api = await serve({ answerBytes: MIB }, systemClock)
  for (let n = 0; n < 10; n += 1)
    await api.call('POST', '/clusters', { name: `long-${n}`, spec: { text: 'a'.repeat(1_000_000) } })
  const search = encodeURIComponent(`spec.text like '%${'a'.repeat(250)}b%'`)
  for (const caller of [2, 3, 4, 5])
    for (let n = 0; n < 8; n += 1)
      (await openConnection(api, caller)).write(
        `GET /api/hyperfleet/v1/clusters?search=${search} HTTP/1.1\r\nHost: a\r\n\r\n`,
      )
  const began = performance.now()
  expect((await api.call('GET', '/clusters?size=1')).status).toBe(200)
  expect(performance.now() - began).toBeLessThan(8_000)
}, 60_000)
