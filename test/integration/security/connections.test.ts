/** Connections that do nothing: each takes memory of the API, with TLS more than the four times of it. API-191. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { MAX_IDLE, MAX_STRANGERS } from '#services/hyperfleet-api/http/connections.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { openConnection } from '../hyperfleet-api/connections.ts'
import { bearer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { serve, type TestApi } from '../hyperfleet-api/support.ts'

const PATIENCE = { timeout: 30_000, interval: 50 }

/** The status of the answer. */
const ask = async (socket: Socket, authorization = ''): Promise<string> => {
  socket.write(
    `GET /api/hyperfleet/v1/clusters?pageSize=1 HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`,
  )
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return String(bytes).slice(9, 12)
}

const shakeHands = async (socket: Socket): Promise<Socket> => {
  const secure = connectSecurely({ socket, rejectUnauthorized: false })
  secure.on('error', () => {})
  await once(secure, 'secureConnect')
  return secure
}

/** So many at once, as a flood is. */
const open = async (api: TestApi, count: number): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => openConnection(api)))

const openAt = async (url: string): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  return socket
}

const openOnes = (sockets: readonly Socket[]): readonly Socket[] => sockets.filter(({ closed }) => !closed)

test('attack: a stranger opens connections without end, before the handshake and after it: few stay, and a caller keeps its own', async () => {
  const folder = await temporaryFolder('connections')
  const { cert, key } = await certificateFor('api')
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  await writeFile(certFile, cert)
  await writeFile(keyFile, key)
  const issuer = await testIssuer()
  const api = await serve({ issuers: [issuer.settings], tls: { certFile, keyFile } })
  const { authorization } = bearer(await issuer.token({ sub: 'a', roles: ['reader'] }))
  const caller = await shakeHands(await openConnection(api))
  expect(await ask(caller, authorization)).toBe('200')

  const refused = await shakeHands(await openConnection(api))
  expect(await ask(refused, 'Bearer none')).toBe('401')
  const shaken: Socket[] = []
  for (const socket of await open(api, 40)) shaken.push(await shakeHands(socket))
  const strangers = [refused, ...shaken, ...(await open(api, MAX_STRANGERS - 20))]
  await vi.waitFor(() => expect(openOnes(strangers)).toHaveLength(MAX_STRANGERS), PATIENCE)
  expect(refused.closed).toBe(true)
  expect(await ask(caller, authorization)).toBe('200')
  expect(await ask(await shakeHands(await openConnection(api)), authorization)).toBe('200')
}, 60_000)

test('attack: a caller opens connections without end, and leaves each after one answer: few stay, and those in use do', async () => {
  const api = await serve({})
  const stream = await openConnection(api)
  stream.write('GET /api/hyperfleet/v1/clusters?watch=true HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(stream, 'data')
  const idle: Socket[] = []
  for (let n = 0; n < MAX_IDLE + 20; n += 1) {
    const socket = await openConnection(api)
    expect(await ask(socket)).toBe('200')
    idle.push(socket)
  }
  await vi.waitFor(() => expect(openOnes(idle)).toHaveLength(MAX_IDLE), PATIENCE)
  expect(idle[0]?.closed).toBe(true)
  expect(stream.closed).toBe(false)
  expect(await ask(idle.at(-1) as Socket)).toBe('200')
}, 60_000)

// SECURITY-34
test('attack: a stranger opens connections to where probes and metrics are without end: few stay, and a probe is answered', async () => {
  const at = { host: '127.0.0.1', port: 0 }
  const { healthUrl, metricsUrl } = await serve({ health: at, metrics: at })
  for (const url of [`${healthUrl}/healthz`, `${metricsUrl}/metrics`]) {
    const sockets = await Promise.all(Array.from({ length: 300 }, () => openAt(url)))
    expect((await fetch(url)).status).toBe(200)
    await vi.waitFor(() => expect(openOnes(sockets).length).toBeLessThanOrEqual(256), PATIENCE)
  }
})
