/** Attacks on what is said to the HyperFleet API, by those who stand on the way or answer in its place: docs/security.md, docs/upgrade.md. */
import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { keepApiCertificate } from '#cmd/nats/api-certificate.ts'
import { connectApi } from '#controllers/clusterdeployment/connect-api.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { createAuthority, type KeyPair, signLeaf } from '#operator/admission/certificates.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { type RunningApi, start } from '#services/hyperfleet-api/start.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from '../adapter/world.ts'
import { muster } from '../cmd/run.ts'
import { type SentinelWorld, sentinelWorld } from '../sentinel/world.ts'

const TOKEN = 'the-token-of-the-manager'
/** As the address of the Service: the API has one port of it, an attacker the others. */
const ADDRESS = `127.0.${1 + (process.pid % 200)}.${1 + (process.ppid % 200)}`
const FORMER_PORT = 8080
const DAY_MS = 24 * 3_600_000

let folder: string
let trusted: { hyperfleetApiUrl: string; hyperfleetApiTokenFile: string; hyperfleetApiCa: string }
let tasks: AdapterWorld
let configs: SentinelWorld
let heard: Pick<IncomingMessage, 'headers' | 'url'>[] = []
let connections = 0
let opened: Server[] = []

/** A Secret or ConfigMap as kubectl shows it, decoded. */
const dataOf = async (kind: 'secrets' | 'configmaps', name: string, namespace = configs.namespace) => {
  const path = `/api/v1/namespaces/${namespace}/${kind}/${name}`
  const { data } = await configs.plane.rest<{ data: Record<string, string> }>('GET', path)
  const decode = (text: string) => (kind === 'secrets' ? Buffer.from(text, 'base64').toString() : text)
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, decode(text)]))
}

/** What an attacker runs: it takes down what it is sent, and says that there is one cluster. */
const listener: RequestListener = (request, response) => {
  heard.push({ headers: request.headers, url: request.url })
  const items = [{ id: 'forged', kind: 'Cluster', name: 'forged', href: '/forged', generation: 1 }]
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ kind: 'ClusterList', page: 1, size: 1, total: 1, items }))
}

const listen = async (server: Server, port: number): Promise<void> => {
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, ADDRESS, resolve)
  })
  opened.push(server)
}

const serveApi = async (): Promise<RunningApi> => {
  const tls = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  const port = Number(new URL(trusted.hyperfleetApiUrl).port)
  return start({ listen: { host: ADDRESS, port }, tls, log: silent, clock: systemClock })
}

beforeAll(async () => {
  tasks = await adapterWorld()
  configs = await sentinelWorld()
  folder = await temporaryFolder('api-tls')
  await keepApiCertificate(configs.api, configs.namespace, [ADDRESS], Date.now())
  const files = {
    ...(await dataOf('secrets', 'hyperfleet-api-tls')),
    ...(await dataOf('configmaps', 'hyperfleet-api-ca')),
    token: TOKEN,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  trusted = {
    hyperfleetApiUrl: `https://${ADDRESS}:${await freePort()}`,
    hyperfleetApiTokenFile: join(folder, 'token'),
    hyperfleetApiCa: join(folder, 'ca.crt'),
  }
})

beforeEach(() => {
  heard = []
  connections = 0
})

afterEach(() => {
  for (const server of opened) server.close()
  opened = []
})

afterAll(async () => {
  await tasks?.[Symbol.asyncDispose]()
  await configs?.[Symbol.asyncDispose]()
})

// API-178, ADAPTER-139, SENTINEL-47
test('attack: a server with another certificate answers in the place of the API: it is sent nothing, and believed nothing', async () => {
  const { cert, key } = await certificateFor('hyperfleet-api', ['hyperfleet-api'])
  const url = trusted.hyperfleetApiUrl
  await listen(createSecureServer({ cert, key }, listener), Number(new URL(url).port))
  await tasks.declare('deceived', { ...namespaceAndConfig(), hyperfleetAPI: { url } })
  await configs.declare('deceived', { resourceType: 'clusters', hyperfleetAPI: { url } })

  const sentinel = await configs.start(systemClock, trusted)
  const { status } = await configs.until('deceived', 'APIUnreachable')
  expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain('certificate')
  await sentinel.stop()

  connections = 0
  const manager = await tasks.manager(undefined, trusted)
  // What the API requires, and the events of the task.
  await vi.waitFor(() => expect(connections).toBeGreaterThan(1), PATIENCE)
  await manager.stop()

  const registrar = connectApi({ ...trusted, version: 'test', clock: systemClock })
  await expect(registrar.list('clusters', {}, new AbortController().signal)).rejects.toThrow('certificate')
  await registrar.close()

  const files = [
    `--hyperfleet-api-token-file=${trusted.hyperfleetApiTokenFile}`,
    `--hyperfleet-api-ca=${trusted.hyperfleetApiCa}`,
  ]
  const { code, output } = await muster(['why', 'clusters/forged', `--hyperfleet-api-url=${url}`, ...files])
  expect(code).toBe(3)
  expect(output).toContain('certificate')
  expect(heard).toEqual([])
})

// API-180, ADAPTER-139, SENTINEL-47
test('attack: a program listens at the API’s former address, which authors still write: nothing goes there', async () => {
  await listen(createServer(listener), FORMER_PORT).catch((error: NodeJS.ErrnoException) => {
    // Another program has the port on all addresses: that the API is asked instead shows it as well.
    if (error.code !== 'EADDRINUSE') throw error
  })
  const api = await serveApi()
  const url = `http://${ADDRESS}:${FORMER_PORT}`
  await tasks.declare('of-before', { ...namespaceAndConfig(), hyperfleetAPI: { url } })
  await configs.declare('of-before', { resourceType: 'clusters', hyperfleetAPI: { url } })
  const sentinel = await configs.start(systemClock, trusted)
  const manager = await tasks.manager(undefined, trusted)
  await configs.until('of-before', 'Watching')
  await tasks.until('of-before', 'Working')
  await sentinel.stop()
  await manager.stop()
  await api.stop()
  expect(heard).toEqual([])
})

/** What was published at one moment. */
interface Published {
  readonly at: number
  readonly bundle: readonly X509Certificate[]
  readonly leaf: X509Certificate
}

/** As a client of the API decides it. */
const trusts = ({ bundle }: Published, { leaf }: Published, at: number, host = 'hyperfleet-api'): boolean =>
  leaf.checkHost(host) !== undefined &&
  [leaf, ...bundle.filter((one) => leaf.verify(one.publicKey))].every(
    ({ validFromDate, validToDate }) => validFromDate.getTime() <= at && at < validToDate.getTime(),
  ) &&
  bundle.some((one) => leaf.verify(one.publicKey))

/** Around each renewal of an authority, which are two thirds of a year apart; the days between them are all alike. */
const DAYS = [0, 243, 486]
  .flatMap((middle) => Array.from({ length: 45 }, (_, index) => middle - 5 + index))
  .filter((day) => day >= 0)

// API-178
test('over two exchanges of the authority clients and replicas that are a day behind trust each other, and two that keep the certificate make one', async () => {
  const namespace = await configs.plane.namespace('api-tls')
  const begin = Date.now()
  let before: Published | undefined
  const authorities = new Set<string>()
  const certificates = new Set<string>()
  for (const day of DAYS) {
    const now = begin + day * DAY_MS
    await Promise.all([0, 1].map(() => keepApiCertificate(configs.api, namespace, ['hyperfleet-api'], now)))
    const { 'ca.crt': bundle = '' } = await dataOf('configmaps', 'hyperfleet-api-ca', namespace)
    const { 'tls.crt': leaf = '' } = await dataOf('secrets', 'hyperfleet-api-tls', namespace)
    const pems = bundle.split(/(?<=-----END CERTIFICATE-----\n)/).filter((pem) => pem.trim() !== '')
    const published = { at: now, bundle: pems.map((pem) => new X509Certificate(pem)), leaf: new X509Certificate(leaf) }
    for (const pem of pems) authorities.add(pem)
    certificates.add(leaf)
    const yesterday = before !== undefined && now - before.at <= DAY_MS ? before : published
    for (const [known, shown] of [
      [published, published],
      [yesterday, published],
      [published, yesterday],
    ] as const)
      expect(trusts(known, shown, now), `day ${day}`).toBe(true)
    // Nothing may keep it for ten days, and the API goes on.
    expect(published.leaf.validToDate.getTime() - now).toBeGreaterThan(9 * DAY_MS)
    before = published
  }
  expect(authorities.size).toBe(3)
  // Of these at least one is of each authority, and none is made twice.
  expect(certificates.size).toBeGreaterThanOrEqual(6)
  expect(certificates.size).toBeLessThanOrEqual(9)
})

// API-178
test('a certificate for other names, without its key, or of an authority that was lost is made anew', async () => {
  const namespace = await configs.plane.namespace('api-tls')
  const keep = (hosts: readonly string[]) => keepApiCertificate(configs.api, namespace, hosts, Date.now())
  const remove = (kind: string, name: string) =>
    configs.plane.rest('DELETE', `/api/v1/namespaces/${namespace}/${kind}/${name}`)
  expect(await Promise.all([0, 1, 2].map(() => keep(['one'])))).toContain(true)
  expect(await keep(['one'])).toBe(false)
  expect(await keep(['one', 'two'])).toBe(true)
  const { 'tls.crt': certificate = '', 'tls.key': key = '' } = await dataOf('secrets', 'hyperfleet-api-tls', namespace)
  expect(new X509Certificate(certificate).checkHost('two')).toBeDefined()
  const path = `/api/v1/namespaces/${namespace}/secrets/hyperfleet-api-tls`
  const other = (await certificateFor('other')).key
  await configs.plane.rest('PATCH', path, { stringData: { 'tls.key': other } })
  expect(await keep(['one', 'two'])).toBe(true)
  expect((await dataOf('secrets', 'hyperfleet-api-tls', namespace))['tls.key']).not.toBe(key)
  await remove('secrets', 'hyperfleet-api-authority')
  await remove('configmaps', 'hyperfleet-api-ca')
  expect(await keep(['one', 'two'])).toBe(true)
  const { 'ca.crt': ca = '' } = await dataOf('configmaps', 'hyperfleet-api-ca', namespace)
  const { 'tls.crt': renewed = '' } = await dataOf('secrets', 'hyperfleet-api-tls', namespace)
  expect(new X509Certificate(renewed).verify(new X509Certificate(ca).publicKey)).toBe(true)
})

// API-189
test('attack: the authority is spoilt: half of it is written over, or its clock was wrong; it is made anew once, and callers trust the API', async () => {
  const namespace = await configs.plane.namespace('api-tls')
  const now = Date.now()
  const keep = () => keepApiCertificate(configs.api, namespace, ['one'], now)
  const path = `/api/v1/namespaces/${namespace}/secrets/hyperfleet-api-authority`
  const spoil = (stringData: Record<string, string>) => configs.plane.rest('PATCH', path, { stringData })
  const pair = ({ certificate, key }: KeyPair) => ({ 'ca.crt': certificate, 'ca.key': key })
  await keep()
  const other = (await certificateFor('other')).key
  const wrongs = {
    'no certificate': { 'ca.crt': '-----BEGIN CERTIFICATE-----\nhalf' },
    'no key': { 'ca.key': '' },
    'the key of another one': { 'ca.key': other },
    'a certificate that signs none': pair(await signLeaf(await createAuthority('it', now), ['one'], now)),
    'one of the day after tomorrow': pair(await createAuthority('ahead', now + 2 * DAY_MS)),
    'one that has ended': pair(await createAuthority('ended', now - 400 * DAY_MS)),
  }
  for (const [wrong, data] of Object.entries(wrongs)) {
    await spoil(data)
    expect(await keep(), wrong).toBe(true)
    expect(await keep(), `${wrong}: once`).toBe(false)
    const { 'ca.crt': bundle = '' } = await dataOf('configmaps', 'hyperfleet-api-ca', namespace)
    const { 'tls.crt': leaf = '' } = await dataOf('secrets', 'hyperfleet-api-tls', namespace)
    const published = { at: now, bundle: [new X509Certificate(bundle)], leaf: new X509Certificate(leaf) }
    expect(trusts(published, published, now, 'one'), wrong).toBe(true)
  }
})

// API-189
test('a keeper whose clock is a month ahead, and then right: what it made of the future is exchanged', async () => {
  const namespace = await configs.plane.namespace('api-tls')
  const now = Date.now()
  const keep = (at: number) => keepApiCertificate(configs.api, namespace, ['one'], at)
  await keep(now)
  expect(await keep(now + 30 * DAY_MS)).toBe(true)
  expect(await keep(now)).toBe(true)
  const { 'tls.crt': leaf = '' } = await dataOf('secrets', 'hyperfleet-api-tls', namespace)
  expect(new X509Certificate(leaf).validFromDate.getTime()).toBeLessThan(now)
})
