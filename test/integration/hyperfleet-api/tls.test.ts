import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request as secureRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { manualClock, postgresMissing } from '#test/harness/index.ts'
import { recorder } from '#test/harness/log.ts'
import { freshPostgres, serve } from './support.ts'

const folderOfTest = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** A certificate with its key in files. */
const files = async (folder: string, name: string, pair: { cert: string; key: string }) => {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  await writeFile(certFile, pair.cert)
  await writeFile(keyFile, pair.key)
  return { certFile, keyFile }
}

interface Seen {
  readonly status: number | undefined
  readonly subject: string
}

/** One request on a connection of its own. */
const get = (url: string, ca: string | string[], client?: { cert: string; key: string }): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const options = { ca, agent: false, ...client, checkServerIdentity: () => undefined }
    const request = secureRequest(`${url}/api/hyperfleet/v1/clusters`, options, (response) => {
      const certificate: PeerCertificate = (response.socket as TLSSocket).getPeerCertificate()
      response.resume()
      response.once('end', () => resolve({ status: response.statusCode, subject: String(certificate.subject.CN) }))
    })
    request.once('error', reject)
    request.end()
  })

test('with a certificate the API serves HTTPS, takes a new one from its files, and keeps the old one while they don’t fit', async () => {
  const folder = await folderOfTest()
  const [first, second] = [await certificateFor('first'), await certificateFor('second')]
  const tls = { ...(await files(folder, 'tls', first)), reloadInterval: 20 }
  const api = await serve({ tls })
  expect(api.url).toMatch(/^https:/)
  expect(await get(api.url, first.cert)).toEqual({ status: 200, subject: 'first' })
  await writeFile(tls.certFile, second.cert)
  expect((await get(api.url, first.cert)).subject).toBe('first')
  await writeFile(tls.keyFile, second.key)
  const both = [first.cert, second.cert]
  await vi.waitUntil(async () => (await get(api.url, both)).subject === 'second', { timeout: 30_000, interval: 20 })
})

// API-179
test('the API is served over HTTP beside HTTPS where that is asked for: the same answers, limits and end', async () => {
  const tls = await files(await folderOfTest(), 'tls', await certificateFor('api'))
  const lines: string[] = []
  const plain = { host: '127.0.0.1', port: 0 }
  const api = await serve({ tls, plain, log: recorder(lines) })
  const { plainUrl = '' } = api
  expect(api.url).toMatch(/^https:/)
  expect(plainUrl).toMatch(/^http:/)
  expect(lines.find((line) => line.includes('is serving'))).toContain(plainUrl)
  const base = `${plainUrl}/api/hyperfleet/v1`
  expect((await fetch(`${base}/clusters`, { method: 'POST', body: '{"name":"one","spec":{}}' })).status).toBe(201)
  expect(await (await fetch(`${base}/clusters`)).json()).toMatchObject({ items: [{ name: 'one' }] })
  expect((await get(api.url, await readFile(tls.certFile, 'utf8'))).status).toBe(200)
  expect((await fetch(`${base}/nothing`)).headers.get('content-type')).toContain('application/problem+json')
  const { createConnection } = await import('node:net')
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(plainUrl).port) })
  socket.write('no request\r\n\r\n')
  let answer = ''
  for await (const bytes of socket) answer += String(bytes)
  expect(answer).toContain('400 ')
  expect(answer).toContain('application/problem+json')
  const stream = await fetch(`${base}/clusters?watch=true`)
  await api.stop()
  expect(await stream.text()).toContain('end')
  await expect(fetch(base)).rejects.toThrow()
})

// API-46
test('without authentication HTTP is opened to no network, either', async () => {
  const tls = await files(await folderOfTest(), 'tls', await certificateFor('api'))
  await expect(serve({ tls, plain: { host: '0.0.0.0', port: 0 } })).rejects.toThrow('open to the network on 0.0.0.0')
})

// API-159
test('the log says once that a certificate expires within a week, and once that it has expired', async () => {
  const clock = manualClock(new Date().toISOString())
  const lines: string[] = []
  const tls = { ...(await files(await folderOfTest(), 'tls', await certificateFor('old'))), reloadInterval: 5 }
  await serve({ tls, log: recorder(lines) }, clock)
  const said = () => lines.filter((line) => line.includes('expire')).map((line) => line.split(':')[0])
  const SOON = 'warn the certificate expires soon'
  expect(said()).toEqual([SOON])
  await clock.advance('48h')
  await vi.waitUntil(() => said().length > 1, { timeout: 30_000, interval: 5 })
  // A new one is judged anew.
  const { cert, key } = await certificateFor('new')
  await writeFile(tls.keyFile, key)
  await writeFile(tls.certFile, cert)
  await vi.waitUntil(() => said().length > 2, { timeout: 30_000, interval: 5 })
  const EXPIRED = 'warn the certificate has expired, and callers refuse it'
  expect(said()).toEqual([SOON, EXPIRED, EXPIRED])
})

test('with a client CA only those connect who have a certificate of it', async () => {
  const folder = await folderOfTest()
  const server = await certificateFor('server')
  const [friend, stranger] = [await certificateFor('friend'), await certificateFor('stranger')]
  const clientCaFile = join(folder, 'clients.crt')
  await writeFile(clientCaFile, friend.cert)
  const api = await serve({ tls: { ...(await files(folder, 'tls', server)), clientCaFile } })
  expect((await get(api.url, server.cert, friend)).status).toBe(200)
  await expect(get(api.url, server.cert)).rejects.toThrow()
  await expect(get(api.url, server.cert, stranger)).rejects.toThrow()
})

test('files that don’t fit each other keep the API from starting', async () => {
  const folder = await folderOfTest()
  const tls = await files(folder, 'tls', await certificateFor('one'))
  await writeFile(tls.keyFile, (await certificateFor('two')).key)
  await expect(serve({ tls })).rejects.toThrow('is not the key of')
  expect(await readFile(tls.certFile, 'utf8')).toContain('BEGIN CERTIFICATE')
})

describe.skipIf(findPostgres() === undefined)(
  `the database${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
  () => {
    test('that is reached over the network without TLS is told of at the start, with its host and what to do', async () => {
      const lines: string[] = []
      const { databaseUrl } = await freshPostgres()
      await serve({ databaseUrl, log: recorder(lines) })
      expect(lines.filter((line) => line.includes('is not encrypted'))).toEqual([])
      // By this name it is not known for this machine, though it is.
      const url = new URL(databaseUrl)
      url.searchParams.set('host', '::ffff:127.0.0.1')
      await serve({ databaseUrl: url.toString(), log: recorder(lines) })
      const [told = ''] = lines.filter((line) => line.includes('is not encrypted'))
      expect(told).toContain('::ffff:127.0.0.1')
      expect(told).toContain('sslmode=verify-full')
      expect(told).not.toContain('postgres://')
    })
  },
)
