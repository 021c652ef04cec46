import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bearer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { serve } from '../hyperfleet-api/support.ts'

// API-83
test('attack: one caller holds so many requests under way that none is left for the others', async () => {
  const issuer = await testIssuer()
  const api = await serve({ issuers: [issuer.settings], inFlight: { total: 4, perCaller: 3 } })
  const headersOf = async (sub: string) => bearer(await issuer.token({ sub, roles: ['editor'] }))
  const [busy, second, third] = [await headersOf('busy'), await headersOf('second'), await headersOf('third')]
  /** A request that never sends the body that it announces. */
  const begin = async ({ authorization }: Record<string, string>): Promise<Socket> => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
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
