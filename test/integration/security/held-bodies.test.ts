/** Requests that hold room for bodies, or wait for it, without sending or having one. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { silent } from '#operator/model/log.ts'
import { heldBytes, openConnection } from '../hyperfleet-api/connections.ts'
import { bearer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { serve, type TestApi } from '../hyperfleet-api/support.ts'

const METRICS = { host: '127.0.0.1', port: 0 }
const MIB = 1024 * 1024
const AT = '/api/hyperfleet/v1'

/** What came within a second. */
const answer = async (socket: Socket, milliseconds = 1_000): Promise<string> => {
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  await delay(milliseconds)
  return text
}

// API-161
test.each([
  ['a length', `Content-Length: ${MIB}\r\n\r\n`],
  ['chunks, and none of them', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
])(
  'attack: watches say that they have a body, by %s, and keep room from those who write for as long as they last',
  async (_, rest) => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings], metrics: METRICS })
    const headersOf = async (sub: string) => bearer(await issuer.token({ sub, roles: ['editor'] }))
    for (const sub of ['a', 'b', 'c', 'd']) {
      const { authorization } = await headersOf(sub)
      for (let n = 0; n < 2; n += 1)
        (await openConnection(api)).write(
          `GET ${AT}/clusters?watch=true HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n${rest}`,
        )
    }
    await delay(500)
    const other = await headersOf('other')
    const created = api.call('POST', '/clusters', { name: 'one', spec: {} }, other)
    expect(await Promise.race([created.then(({ status }) => status), delay(5_000, 'waits')])).toBe(201)
    expect(await heldBytes(api, 'body')).toBe(0)
  },
  30_000,
)

// API-161
test('attack: requests behind a watch on one connection keep room for as long as it lasts', async () => {
  const api = await serve({ metrics: METRICS })
  const socket = await openConnection(api)
  const body = JSON.stringify({ name: 'one', spec: { filler: 'x'.repeat(60_000) } })
  const post = `POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(`GET ${AT}/clusters?watch=true HTTP/1.1\r\nHost: a\r\n\r\n${post.repeat(100)}`)
  socket.on('data', () => {})
  await delay(3_000)
  expect(await heldBytes(api, 'body')).toBe(0)
}, 30_000)

// API-91
test.each([1, 12])(
  'attack: %i whole lists at once on one connection keep neither room nor others of the caller waiting',
  async (count) => {
    const api = await serve({ metrics: METRICS, streamBytes: MIB })
    for (let n = 0; n < 10; n += 1)
      await api.call('POST', '/clusters', { name: `c-${n}`, spec: { filler: 'x'.repeat(60_000) } })
    const socket = await openConnection(api)
    socket.write(`GET ${AT}/clusters?labels= HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count))
    const text = await answer(socket, 5_000)
    const other = api.call('GET', '/clusters?labels=').then(({ status }) => status)
    expect({
      answered: text.match(/"total":10}/g)?.length ?? 0,
      other: await Promise.race([other, delay(5_000, 'waits')]),
      held: await heldBytes(api, 'stream'),
      // More than one, and the connection ends: no client of ours sends a request before it has the answer to the last.
    }).toEqual({ answered: count === 1 ? 1 : 0, other: 200, held: 0 })
  },
  60_000,
)

// API-204
test('attack: callers keep all room for documents, and all room for bodies, and come again whenever they are cut off: others are served', async () => {
  const { lines, log } = recorder()
  const api = await serve({ metrics: METRICS, streamBytes: 4 * MIB, log }, systemClock)
  const filler = 'x'.repeat(900_000)
  for (let n = 0; n < 16; n += 1) await api.call('POST', '/clusters', { name: `c-${n}`, spec: { filler } })
  const ended = new AbortController()
  onTestFinished(() => ended.abort())
  /** Sends the beginning of a request, reads nothing, and does so again. */
  const keep = async (caller: number, text: string): Promise<void> => {
    while (!ended.signal.aborted) {
      const socket = await openConnection(api, caller)
      socket.pause()
      socket.write(text)
      await once(socket, 'close').catch(() => undefined)
    }
  }
  const list = `GET ${AT}/clusters?labels= HTTP/1.1\r\nHost: a\r\n\r\n`
  const body = `POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${MIB}\r\n\r\n{`
  for (const caller of [2, 3, 4, 5])
    for (const text of [list, body, list, body]) void keep(caller, text).catch(() => undefined)
  await vi.waitFor(async () => expect(await heldBytes(api, 'body')).toBeGreaterThan(7 * MIB))
  await vi.waitFor(async () => expect(await heldBytes(api, 'stream')).toBeGreaterThan(3 * MIB))
  const [created, listed] = await Promise.all([
    api.call('POST', '/clusters', { name: 'other', spec: { filler } }),
    api.call('GET', '/clusters?labels='),
  ])
  expect([created.status, listed.status]).toEqual([201, 200])
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
}, 60_000)

const recorder = () => {
  const lines: { level: string; message: string; fields: unknown }[] = []
  const add = (level: string) => (message: string, fields?: unknown) => void lines.push({ level, message, fields })
  const log = { ...silent, error: add('error'), warn: add('warn'), info: add('info') } as unknown as Logger
  return { lines, log }
}

/** Bodies that one caller has begun, and that do not come: its share. */
const takeShare = async (api: TestApi): Promise<Socket[]> => {
  const sockets = await Promise.all([openConnection(api), openConnection(api)])
  for (const socket of sockets)
    socket.write(`POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${MIB}\r\n\r\n{`)
  await vi.waitFor(async () => expect(await heldBytes(api, 'body')).toBe(2 * MIB))
  return sockets
}

/** Asks whether to send a body. */
const asking = async (api: TestApi, headers: string, path = 'clusters'): Promise<Socket> => {
  const socket = await openConnection(api)
  socket.write(`POST ${AT}/${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n${headers}\r\n`)
  return socket
}
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

// API-190
test('attack: a caller without room for more asks whether to send bodies: it is told to when there is room', async () => {
  const api = await serve({ metrics: METRICS })
  const before = await takeShare(api)
  const body = JSON.stringify({ name: 'one', spec: {} })
  const socket = await asking(api, `Content-Length: ${body.length}\r\n`)
  expect(await answer(socket)).toBe('')
  for (const one of before) one.destroy()
  await once(socket, 'data')
  const answered = answer(socket)
  socket.write(body)
  expect(await answered).toMatch(/^HTTP\/1.1 201 /)
}, 30_000)

// API-190
test('who asks whether to send a body is told so for every path, and a stranger is refused without', async () => {
  const issuer = await testIssuer()
  const api = await serve({ issuers: [issuer.settings], metrics: METRICS })
  const { authorization } = bearer(await issuer.token({ sub: 'a', roles: ['editor'] }))
  expect(await answer(await asking(api, 'Content-Length: 100\r\n'))).toMatch(/^HTTP\/1.1 401 /)
  for (const path of ['clusters', 'none']) {
    const text = await answer(await asking(api, `Authorization: ${authorization}\r\nContent-Length: 2\r\n`, path))
    expect(text).toMatch(new RegExp(`^(${CONTINUE}|HTTP/1.1 404 )`))
  }
}, 30_000)

test('who leaves while it waits for room is no failure of the API', async () => {
  const { lines, log } = recorder()
  const api = await serve({ metrics: METRICS, log })
  await takeShare(api)
  const waiting = await openConnection(api)
  waiting.write(`POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{`)
  await delay(500)
  waiting.destroy()
  await delay(500)
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  const text = await (await fetch(`${api.metricsUrl}/metrics`)).text()
  expect(text.split('\n').filter((line) => /code="5|status="5/.test(line))).toEqual([])
}, 30_000)

test('who waits for room while the server stops is told to try again, not that something went wrong', async () => {
  const { lines, log } = recorder()
  const api = await serve({ metrics: METRICS, log })
  const sockets = await takeShare(api)
  const waiting = await openConnection(api)
  const body = '{"name":"one","spec":{}}'
  waiting.write(`POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  await delay(500)
  const answered = answer(waiting)
  const stopped = api.stop()
  for (const socket of sockets) socket.destroy()
  expect((await answered).split('\r\n')[0]).not.toContain(' 500 ')
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  await stopped
}, 30_000)

test('who waits long for room is told so, and not that it was slow', async () => {
  const issuer = await testIssuer()
  // As the defaults, thirty times as fast.
  const api = await serve({
    issuers: [issuer.settings],
    metrics: METRICS,
    requestTimeouts: { headers: 300, request: 1_000 },
  })
  const authorization = async (sub: string) =>
    `Authorization: ${bearer(await issuer.token({ sub, roles: ['editor'] })).authorization}`
  const body = JSON.stringify({ name: 'one', spec: { filler: 'x'.repeat(500_000) } })
  const head = `POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length:`
  // Sends again whenever it was cut off: others' bodies are always under way.
  for (const sub of ['a', 'b', 'c', 'd'])
    for (let n = 0; n < 6; n += 1)
      (await openConnection(api)).write(`${head} ${MIB}\r\n${await authorization(sub)}\r\n\r\n{`)
  const waiting = await openConnection(api)
  waiting.write(`${head} ${body.length}\r\n${await authorization('other')}\r\n\r\n${body}`)
  expect((await answer(waiting, 8_000)).split('\r\n')[0]).toContain(' 429 ')
}, 30_000)

// API-161
test('attack: requests that wait for room on one connection are in memory all the same', async () => {
  const api = await serve({ metrics: METRICS })
  await takeShare(api)
  const socket = await openConnection(api)
  const body = JSON.stringify({ name: 'one', spec: { filler: 'x'.repeat(60_000) } })
  const post = `POST ${AT}/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  let taken = 0
  for (let n = 0; n < 2_000; n += 1) {
    if (!socket.write(post)) await Promise.race([once(socket, 'drain').catch(() => {}), delay(2_000)])
    if (socket.destroyed || socket.writableLength > MIB) break
    taken = n
  }
  await delay(500)
  expect(taken * body.length).toBeLessThan(16 * MIB)
}, 60_000)
