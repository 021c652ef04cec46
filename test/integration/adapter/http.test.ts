/** Resources of another service beside those of Kubernetes: docs/adapters.md, Resources of other services. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { HttpClient } from '#controllers/adapter/http/client.ts'
import { openHttpConnection } from '#controllers/adapter/http/connection.ts'
import type { JsonObject } from '#controllers/adapter/task/task.ts'
import { httpTransport, MAX_RESPONSE_CHARS } from '#controllers/adapter/transports/http.ts'
import type { Target } from '#controllers/adapter/transports/transport.ts'
import { guardedLookup } from '#lib/egress/guarded-lookup.ts'
import { httpAllowlist } from '#lib/egress/http-allowlist.ts'
import { systemClock } from '#operator/index.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { type Inventory, startInventory, status } from './inventory.ts'
import { type AdapterWorld, adapterWorld, type Manager, PATIENCE } from './world.ts'

const TOKEN = 'a-token-that-nobody-may-see'
const signal = new AbortController().signal

let folder: string
let plain: Inventory
let secure: Inventory

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-inventory-'))
  await writeFile(join(folder, 'token'), `${TOKEN}\n`)
  plain = await startInventory()
  const pair = await certificateFor('localhost')
  secure = await startInventory(pair)
  // What NODE_EXTRA_CA_CERTS does for a process from its start.
  setDefaultCACertificates([...getCACertificates('default'), pair.cert])
})

afterAll(async () => {
  await plain?.stop()
  await secure?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('each request', () => {
  const exchange = openHttpConnection({
    userAgent: 'test',
    maxResponseChars: MAX_RESPONSE_CHARS,
    lookup: guardedLookup,
  })
  const transport = (timeoutMs = 30_000) =>
    httpTransport(
      new HttpClient({ roundTrip: exchange.roundTrip, clock: systemClock, timeoutMs, random: () => 0 }),
      httpAllowlist([plain.url, secure.url], '--adapter-http-targets'),
    )
  const target = (url: string, createUrl?: string, manifest: JsonObject = { id: 'one', size: 3 }): Target => ({
    name: 'site',
    identity: {},
    manifest,
    transport: { kind: 'http', url, createUrl, headers: { authorization: `Bearer ${TOKEN}` } },
    match: { kind: 'self' },
  })
  const site = (more?: string) => target(`${plain.url}/sites/one`, more)

  afterAll(() => exchange.close())
  afterEach(() => {
    plain.log.length = 0
    plain.sites.clear()
  })

  test('ADAPTER-56: applies by PUT, finds by GET, deletes by DELETE; with nothing there, there is nothing to find or delete', async () => {
    expect(await transport().find(site(), signal)).toEqual([])
    expect(await transport().apply(site(), signal)).toEqual({ id: 'one', size: 3 })
    const http = transport()
    const [object = {}] = await http.find(site(), signal)
    await http.delete(site(), object, 'Background', signal)
    await http.delete(site(), object, 'Background', signal)
    expect(plain.sites.size).toBe(0)
    expect(plain.log).toContain('DELETE /sites/one 404')
    expect(plain.headers()).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'if-match': '"1"' })
  })

  test('over TLS, trusted by its authority', async () => {
    const over = target(`${secure.url}/sites/one`)
    expect(await transport().apply(over, signal)).toEqual({ id: 'one', size: 3 })
    expect(secure.log).toContain('PUT /sites/one 201')
  })

  test('creates by POST only what is not there; 409 of a race ends in the wanted state', async () => {
    const created = site(`${plain.url}/sites`)
    await transport().apply(created, signal)
    await transport().apply({ ...created, manifest: { id: 'one', size: 4 } }, signal)
    expect(plain.log.filter((line) => !line.startsWith('GET'))).toEqual(['POST /sites 201', 'PUT /sites/one 200'])
    plain.misbehave('GET', 1, status(404))
    await transport().apply({ ...created, manifest: { id: 'one', size: 5 } }, signal)
    expect(plain.log).toContain('POST /sites 409')
    expect(plain.sites.get('/sites/one')?.body).toEqual({ id: 'one', size: 5 })
  })

  test('ADAPTER-56: deletes the very object that was found, not one that took its place', async () => {
    const http = transport()
    await http.apply(site(), signal)
    const [object = {}] = await http.find(site(), signal)
    await transport().apply(target(`${plain.url}/sites/one`, undefined, { id: 'one', size: 9 }), signal)
    await http.delete(site(), object, 'Background', signal)
    expect(plain.log.at(-1)).toBe('DELETE /sites/one 412')
    expect(plain.sites.size).toBe(1)
  })

  test('is tried again after 5xx and after no answer, and not after a refusal', async () => {
    plain.misbehave('PUT', 1, status(503, { 'retry-after': '0' }))
    plain.misbehave('PUT', 1, (request) => request.socket.destroy())
    expect(await transport().apply(site(), signal)).toEqual({ id: 'one', size: 3 })
    plain.misbehave('PUT', 1, status(409))
    await expect(transport().apply(site(), signal)).rejects.toMatchObject({
      reason: 'ApplyFailed',
      message: `site can't be applied: PUT ${plain.url}/sites/one was answered with 409: told to answer 409`,
    })
    plain.misbehave('DELETE', 1, status(403))
    await expect(transport().delete(site(), {}, 'Background', signal)).rejects.toMatchObject({ reason: 'Forbidden' })
  })

  test('is given up when no answer comes in time, or the answer has no end', async () => {
    plain.misbehave('GET', 3, () => {})
    await expect(transport(100).find(site(), signal)).rejects.toMatchObject({
      reason: 'Unreachable',
      message: expect.stringContaining('no answer within 0.1 s (3 attempts)'),
    })
    plain.misbehave('GET', 3, (_, response) => {
      const more = () => {
        while (response.writable && response.write('x'.repeat(65_536)));
      }
      response.writeHead(200).on('drain', more)
      more()
    })
    await expect(transport().find(site(), signal)).rejects.toThrow('larger than 1048576 characters')
  })

  test('ADAPTER-55: follows no redirect: the credentials are for the one whom the task names', async () => {
    plain.misbehave('PUT', 1, status(307, { location: `${secure.url}/sites/one?token=${TOKEN}` }))
    const before = secure.log.length
    const refused = expect(transport().apply(site(), signal)).rejects
    await refused.toThrow(`answered with 307 to ${secure.url}/sites/one: redirects are not followed`)
    expect(secure.log).toHaveLength(before)
  })

  test('ADAPTER-55: goes nowhere but where it may', async () => {
    await expect(transport().find(target('http://localhost:1/x'), signal)).rejects.toThrow('--adapter-http-targets')
    expect(plain.log).toEqual([])
  })
})

describe('a task with objects here and there', () => {
  let world: AdapterWorld
  let manager: Manager

  const task = (inventory: Inventory): Partial<AdapterTaskSpec> => ({
    params: [
      { name: 'clusterId', source: 'event.id', required: true },
      { name: 'token', source: { file: { path: join(folder, 'token'), trim: true } }, required: true },
    ],
    resources: [
      {
        name: 'site',
        transport: {
          client: 'http',
          http: {
            url: `${inventory.url}/sites/{{ .clusterId }}`,
            headers: [{ name: 'Authorization', value: 'Bearer {{ .token }}' }],
          },
        },
        manifest: { name: '{{ .resource.name }}' },
      },
      {
        name: 'config',
        manifest: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'site-{{ .clusterId }}', namespace: world.namespace },
          data: { site: '{{ .resource.name }}' },
        },
        discovery: { namespace: world.namespace, by_name: 'site-{{ .clusterId }}' },
      },
      {
        name: 'address',
        transport: { client: 'http', http: { url: `${inventory.url}/addresses/{{ .clusterId }}` } },
        manifest: { of: '{{ .resource.name }}' },
        delete_options: { after: ['config'] },
      },
    ],
  })
  const configOf = (id: string) => `/api/v1/namespaces/${world.namespace}/configmaps/site-${id}`
  const ready = (id: string) =>
    vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)

  beforeAll(async () => {
    world = await adapterWorld()
    manager = await world.manager(undefined, { files: [folder], httpTargets: [plain.url, secure.url] })
  })

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
  })

  // ADAPTER-55
  test('attack: a task leads to what the operator has not listed, by a name, by what looks like a listed one, by a number, or by what its record says; it is refused with the place and what to write', async () => {
    let reached = 0
    const own = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    await once(own.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void own.close())
    const { port } = own.address() as AddressInfo
    const listed = new URL(plain.url)
    const [site] = task(plain).resources ?? []
    const declare = (name: string, url: string) =>
      world.declare(name, {
        params: [{ name: 'clusterId', source: 'event.id', required: true }],
        selector: { matchLabels: { nosy: 'yes' } },
        resources: [{ ...site, name: 'site', transport: { client: 'http', http: { url } }, manifest: {} }],
      })
    const refused = [
      'http://169.254.169.254/latest/meta-data',
      `http://127.0.0.1:${port}/x`,
      `http://localhost:${port}/x`,
      `http://${listed.host}@127.0.0.1:${port}/x`,
      `http://2130706433:${port}/x`,
      'http://[::ffff:169.254.169.254]/x',
      'http://kubernetes.default.svc/api',
    ]
    const told = await Promise.all(
      refused.map(async (url, at) => {
        await declare(`nosy-${at}`, url)
        const { status: found } = await world.until(`nosy-${at}`, 'InvalidTask')
        return found?.conditions?.find(({ type }) => type === 'Ready')?.message ?? ''
      }),
    )
    for (const message of told) expect(message).toContain('resources[0].transport.http.url: ')
    expect(told[0]).toContain('http://169.254.169.254/latest/meta-data is a link-local address')
    // Where the record says where to go, a run finds it out.
    await declare('nosy-record', '{{ .resource.spec.to }}/x')
    await world.until('nosy-record', 'Working')
    for (const [name, to] of [
      ['nosy-own', `http://127.0.0.1:${port}`],
      ['nosy-metadata', 'http://169.254.169.254'],
    ] as const) {
      const { id } = await world.create(name, { to }, { nosy: 'yes' })
      await world.pulse(id)
      await vi.waitFor(
        async () => expect((await world.reported(id, 'nosy-record')).join()).toContain('Applied False'),
        PATIENCE,
      )
    }
    expect(reached).toBe(0)
    const tasks = `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks`
    for (const name of [...refused.map((_, at) => `nosy-${at}`), 'nosy-record'])
      await world.plane.rest('DELETE', `${tasks}/${name}`)
  })

  test('applies and deletes them in one order over TLS, waits for slow deletions, and shows the token nowhere', async () => {
    await world.declare('mixed', task(secure))
    await world.until('mixed', 'Working')
    const { id } = await world.create('mixed')
    await world.pulse(id)
    await ready(id)
    expect(secure.sites.get(`/sites/${id}`)?.body).toEqual({ name: 'mixed' })
    expect(await world.object(configOf(id))).toMatchObject({ data: { site: 'mixed' } })

    // Held, the ConfigMap keeps the address, which comes after it; the site is bound to none and goes at once.
    secure.slow = true
    await world.plane.rest('PATCH', configOf(id), { metadata: { finalizers: ['example.com/hold'] } })
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await vi.waitFor(() => expect(secure.log).toContain(`DELETE /sites/${id} 202`), PATIENCE)
    await vi.waitFor(async () => expect(await world.reported(id, 'mixed')).toContain('Applied True Deleting'), PATIENCE)
    expect(secure.log.filter((line) => line.startsWith(`DELETE /addresses/${id}`))).toEqual([])
    await world.plane.rest('PATCH', configOf(id), { metadata: { finalizers: null } })
    await vi.waitFor(() => expect(secure.log).toContain(`DELETE /addresses/${id} 202`), PATIENCE)
    expect(await world.cluster(id)).toBeDefined()
    secure.finish()
    secure.slow = false
    // Nothing there can be watched: it is asked again, without a pulse.
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
    expect(secure.log.filter((line) => line.startsWith('PUT') && line.includes(id)).length).toBeGreaterThan(0)
    expect(manager.lines.join('\n')).not.toContain(TOKEN)
    expect(JSON.stringify((await world.task('mixed')).status)).not.toContain(TOKEN)
    await world.plane.rest(
      'DELETE',
      `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/mixed`,
    )
  })

  test('ADAPTER-102: what says that it is still at work is looked at again until it is done, with the one pulse', async () => {
    const [site] = task(plain).resources ?? []
    await world.declare('slow', { ...task(plain), resources: [{ ...site, name: 'site' }] } as Partial<AdapterTaskSpec>)
    await world.until('slow', 'Working')
    const working = { status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'Building', message: '' }] } }
    plain.misbehave('GET', 2, (_, response) => response.writeHead(200).end(JSON.stringify(working)))
    const { id } = await world.create('slow')
    await world.pulse(id)
    await vi.waitFor(
      async () => expect(await world.reported(id, 'slow')).toContain('Available Unknown Building'),
      PATIENCE,
    )
    await ready(id)
    expect(await world.reported(id, 'slow')).toContain('Available True Available')
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
    await world.plane.rest(
      'DELETE',
      `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${world.namespace}/adaptertasks/slow`,
    )
  })

  test('says that the service is away, does the rest of a deletion meanwhile, and ends when it is back', async () => {
    await world.declare('outage', task(plain))
    await world.until('outage', 'Working')
    const { id } = await world.create('outage')
    await world.pulse(id)
    await ready(id)
    await plain.stop()
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulse(id, 'Deleting')
    await vi.waitFor(
      async () => expect(await world.reported(id, 'outage')).toContain('Health False Unreachable'),
      PATIENCE,
    )
    await vi.waitFor(async () => expect(await world.object(configOf(id))).toBeUndefined(), PATIENCE)
    expect(await world.reported(id, 'outage')).toContain('Applied True Deleting')
    await plain.start()
    await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
    expect(plain.sites.size).toBe(0)
  })
})
