import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { manualClock } from '#test/harness/index.ts'
import { bearer, testIssuer } from './issuer.ts'
import { openWatch, serve } from './support.ts'

describe('one caller', () => {
  test('who sends too much is told when to come back, and neither its reports nor others wait for it', async () => {
    const issuer = await testIssuer()
    const clock = manualClock()
    const api = await serve({ issuers: [issuer.settings], rateLimit: { rate: 1, burst: 3 } }, clock)
    const busy = bearer(await issuer.token({ sub: 'busy', roles: ['reader', 'adapter'] }))
    const list = async (headers: Record<string, string>) => api.call('GET', '/clusters', undefined, headers)
    for (let sent = 0; sent < 3; sent += 1) expect((await list(busy)).status).toBe(200)
    const refused = await list(busy)
    expect([refused.status, refused.body.code]).toEqual([429, 'HYPERFLEET-LMT-001'])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await api.call('PUT', '/clusters/none/statuses', {}, busy)).status).toBe(400)
    expect((await list(bearer(await issuer.token({ sub: 'other', roles: ['reader'] })))).status).toBe(200)
    await clock.advance(1_000)
    expect((await list(busy)).status).toBe(200)
  })

  test('attack: opens streams without end; it has so many and no more, until it closes one', async () => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings], maxStreams: 2 })
    const headers = bearer(await issuer.token({ roles: ['reader'] }))
    const open = () => openWatch(api, '/clusters?watch=true', headers)
    const [first] = [await open(), await open()]
    const refused = await api.call('GET', '/clusters?watch=true', undefined, headers)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    first?.close()
    let again = await open()
    while (again.status === 429) again = await open()
    expect(again.status).toBe(200)
  })

  test('API-91: without a token is known by its address, and has no more streams than others', async () => {
    const api = await serve({ maxStreams: 2 })
    const open = (path: string) => openWatch(api, path)
    expect([(await open('/clusters?watch=true')).status, (await open('/nodepools?watch=true')).status]).toEqual([
      200, 200,
    ])
    expect((await open('/clusters?watch=true')).status).toBe(429)
    expect((await api.call('GET', '/clusters?labels=')).status).toBe(429)
    expect((await api.call('GET', '/clusters?labels=&size=20')).status).toBe(200)
  })
})

describe('one connection', () => {
  /** Sends bytes and gives all that comes back until the server hangs up. */
  const exchange = async (url: string, bytes: string): Promise<string> => {
    const { port } = new URL(url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(bytes)
    return text(socket)
  }

  test('that sends its headers drop by drop is answered 408 and closed', async () => {
    const api = await serve({ requestTimeouts: { headers: 300, request: 600 } })
    const answer = await exchange(api.url, 'GET /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nX-Slow: ')
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('HYPERFLEET-LMT-005')
  })

  test('that sends its body drop by drop is answered 408 and closed', async () => {
    const api = await serve({ requestTimeouts: { headers: 300, request: 600 } })
    const head = 'POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n'
    expect(await exchange(api.url, `${head}{"name"`)).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('that speaks no HTTP is answered 400 in the words of this API', async () => {
    const api = await serve()
    const answer = await exchange(api.url, 'hello\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('HYPERFLEET-VAL-006')
  })

  // API-76
  test.each([
    ['without a Host', 'GET /api/hyperfleet/v1/clusters HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['with CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n'],
  ])('%s is answered 400 in the words of this API', async (_, bytes) => {
    const api = await serve()
    const answer = await exchange(api.url, bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('HYPERFLEET-VAL-006')
  })

  test('that expects what no server promises is answered as without it', async () => {
    const api = await serve()
    const head = 'POST /api/hyperfleet/v1/clusters HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2'
    const answer = await exchange(api.url, `${head}\r\nExpect: a-wonder\r\n\r\n{}`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('name is required')
  })

  test('with headers beyond 16 KiB is answered 431 in the words of this API', async () => {
    const api = await serve()
    const answer = await exchange(api.url, `GET / HTTP/1.1\r\nHost: a\r\nX-Much: ${'x'.repeat(17_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain('HYPERFLEET-LMT-004')
  })
})

test('a path and query beyond 14 KiB are 414; the longest search, all escaped, is not too long', async () => {
  const api = await serve()
  const long = await api.call('GET', `/clusters?search=${'x'.repeat(14 * 1024)}`)
  expect([long.status, long.body.code]).toEqual([414, 'HYPERFLEET-LMT-003'])
  expect((await api.call('GET', `/clusters?search=${'%25'.repeat(4096)}`)).body.code).toBe('HYPERFLEET-VAL-005')
})

test('large answers are compressed for those who take gzip, and say so to caches', async () => {
  const api = await serve()
  await api.call('POST', '/clusters', { name: 'one', spec: { text: 'x'.repeat(5_000) } })
  const get = async (encoding: string) => {
    const { headers, body } = await request(`${api.url}/api/hyperfleet/v1/clusters`, {
      headers: { 'accept-encoding': encoding },
    })
    const { byteLength } = await body.bytes()
    return { encoding: headers['content-encoding'], vary: headers.vary, byteLength }
  }
  const plain = await get('identity')
  expect(plain).toMatchObject({ encoding: undefined, vary: 'Authorization' })
  expect(plain.byteLength).toBeGreaterThan(5_000)
  const small = await get('br, gzip;q=0.5')
  expect(small).toMatchObject({ encoding: 'gzip', vary: 'Authorization, Accept-Encoding' })
  expect(small.byteLength).toBeLessThan(1_500)
  expect((await (await fetch(`${api.url}/api/hyperfleet/v1/clusters`)).json()) as object).toMatchObject({ total: 1 })
})
