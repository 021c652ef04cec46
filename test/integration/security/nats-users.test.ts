/** Attacks on NATS as it is delivered, and what keeps its users: docs/security.md, docs/spec/nats.md. */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect, nkeyAuthenticator } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import {
  newSigningKey,
  publicKeysOf,
  readPublicKeys,
  readSigningKeys,
} from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { jetStreamSource } from '#controllers/adapter/events/jetstream.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { startNats as startNatsOn } from '#hack/nats/nats.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { silent } from '#operator/model/log.ts'
import { openBroker } from '#services/hyperfleet-api/events/jetstream/broker.ts'
import { sharedControlPlane, startNats } from '#test/harness/index.ts'
import { muster } from '../cmd/run.ts'
import { type NatsWorld, natsWorld, newDevice, PATIENCE, streamsOf } from './nats-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const plane = await sharedControlPlane()
const [pump, thief] = [newDevice(), newDevice()]
const inboxOf = (device: string) => ({ inboxPrefix: `_INBOX.${device}` })
let world: NatsWorld

beforeAll(async () => {
  world = await natsWorld(plane)
  await world.declare({ pump: pump.publicKey, thief: thief.publicKey })
  await world.lets(thief)
  const operator = await world.as('nats-fleet')
  const manager = await jetstreamManager(operator)
  for (const settings of Object.values(BUCKETS)) await ensureBucket({ connection: operator, manager }, settings, silent)
  const broker = await openBroker({
    url: world.nats.url,
    credentials: await world.seedOf('nats-api'),
    ca: await world.ca(),
    log: silent,
  })
  await broker.close()
}, 180_000)
afterAll(() => world?.[Symbol.asyncDispose]())

const desired = async () => new Kvm(await world.as('nats-fleet')).open(BUCKETS.desired.name)

// API-178
test('the program beside NATS keeps the certificate of the HyperFleet API, for all its names, with the rights that are delivered', async () => {
  const read = (kind: string, name: string) =>
    plane.rest<{ data: Record<string, string>; type?: string }>(
      'GET',
      `/api/v1/namespaces/${world.namespace}/${kind}/${name}`,
    )
  const secret = await vi.waitFor(() => read('secrets', 'hyperfleet-api-tls'), PATIENCE)
  const { data } = await read('configmaps', 'hyperfleet-api-ca')
  const certificate = new X509Certificate(Buffer.from(secret.data['tls.crt'] ?? '', 'base64'))
  expect(secret.type).toBe('kubernetes.io/tls')
  const service = 'hyperfleet-api.hyperfleet-system'
  for (const name of ['hyperfleet-api', service, `${service}.svc`, `${service}.svc.cluster.local`, 'localhost'])
    expect(certificate.checkHost(name), name).toBeDefined()
  expect(certificate.checkIP('127.0.0.1')).toBeDefined()
  expect(certificate.verify(new X509Certificate(data['ca.crt'] ?? '').publicKey)).toBe(true)
  await plane.rest('DELETE', `/api/v1/namespaces/${world.namespace}/secrets/hyperfleet-api-tls`)
  const again = await vi.waitFor(() => read('secrets', 'hyperfleet-api-tls'), PATIENCE)
  expect(again.data['tls.key']).not.toBe(secret.data['tls.key'])
  expect(JSON.stringify(data)).not.toContain('PRIVATE')
  expect(world.keeper.output()).not.toContain('PRIVATE')
})

// NATS-1
test('attack: a stranger connects, with the authority’s certificate and without, with no key and with one of its own', async () => {
  const tls = { caFile: await world.ca() }
  await expect(world.open({ tls })).rejects.toThrow(/authorization/i)
  await expect(world.asDevice(newDevice())).rejects.toThrow(/authorization/i)
  await expect(world.open({ tls, user: 'admin', pass: 'admin' })).rejects.toThrow(/authorization/i)
})

// NATS-3
test('attack: a client speaks without TLS, or takes another server for this one', async () => {
  // By the protocol alone: the client of NATS would speak TLS as soon as the server asks for it.
  const { createConnection } = await import('node:net')
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(world.nats.url).port) })
  let answer = ''
  socket.on('data', (bytes) => {
    answer += bytes.toString()
  })
  socket.on('error', () => undefined)
  socket.write('CONNECT {"verbose":true,"tls_required":false}\r\nPUB hyperfleet.events.clusters 2\r\nhi\r\nPING\r\n')
  await new Promise((resolve) => socket.on('close', resolve))
  expect(answer).toContain('"tls_required":true')
  expect(answer).not.toContain('PONG')
  expect(answer).not.toContain('+OK')

  const seed = await readFile(await world.seedOf('nats-api'))
  await expect(world.open({ authenticator: nkeyAuthenticator(seed) })).rejects.toThrow(/certificate/)
  // A client of ours that is told of an authority shows its key to no server without a certificate of it.
  await using other = await startNats()
  await expect(
    openBroker({ url: other.url, credentials: await world.seedOf('nats-api'), ca: await world.ca(), log: silent }),
  ).resolves.toMatchObject({ unavailableReason: expect.stringContaining('does not answer') })
})

// NATS-1
test('attack: the API’s key reads and writes the fleet’s buckets; the fleet operator’s reads and writes events', async () => {
  await (await desired()).put('pump.shop.web', 'secret')
  const [api, fleet] = [await world.as('nats-api'), await world.as('nats-fleet')]
  expect(await streamsOf(api)).toEqual(['hyperfleet-events'])
  expect(await streamsOf(fleet)).toEqual(
    Object.values(BUCKETS)
      .map(({ name }) => `KV_${name}`)
      .toSorted(),
  )

  const heard: string[] = []
  const watch = api.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) })
  await (await desired()).put('pump.shop.web', 'more')
  await expect(jetstream(api).publish('$KV.fleet-desired.pump.shop.web', 'mine')).rejects.toThrow()
  await expect(jetstream(fleet).publish(`${EVENT_SUBJECTS}.clusters`, 'mine')).rejects.toThrow()
  await api.flush()
  watch.unsubscribe()
  expect(
    heard.filter((subject) => subject.startsWith('$KV.') && subject !== '$KV.fleet-desired.pump.shop.web'),
  ).toEqual([])
  expect((await (await desired()).get('pump.shop.web'))?.string()).toBe('more')
})

// NATS-2
test('attack: a device’s key writes entries, reads those of others, deletes or purges streams', async () => {
  await (await desired()).put('pump.shop.web', 'secret of the pump')
  const stolen = await world.asDevice(thief, inboxOf('thief'))
  const refused: string[] = []
  void (async () => {
    for await (const status of stolen.status()) if (status.type === 'error') refused.push(status.error.message)
  })()
  const ask = async (subject: string, body: object | string = '') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return stolen.request(subject, text, { timeout: 1_000 }).then(
      (message) => message.string(),
      () => 'nothing',
    )
  }
  const stream = 'KV_fleet-desired'
  const asked = [
    ['$KV.fleet-desired.thief.shop.web', 'what I like'],
    ['$KV.fleet-desired.pump.shop.web', 'what I like'],
    ['$KV.fleet-state.pump.shop.web', 'Failed'],
    [`$JS.API.STREAM.MSG.GET.${stream}`, { last_by_subj: '$KV.fleet-desired.pump.shop.web' }],
    [`$JS.API.DIRECT.GET.${stream}.$KV.fleet-desired.pump.shop.web`, ''],
    [`$JS.API.STREAM.PURGE.${stream}`, ''],
    [`$JS.API.STREAM.DELETE.${stream}`, ''],
    [`$JS.API.STREAM.UPDATE.${stream}`, { name: stream, max_bytes: 1 }],
    ['$JS.API.STREAM.NAMES', ''],
    ['$JS.API.STREAM.CREATE.mine', { name: 'mine', subjects: ['mine'] }],
    ['$SYS.REQ.SERVER.PING', ''],
    ['$SYS.REQ.USER.INFO', ''],
  ] as const
  for (const [subject, body] of asked)
    expect([subject, await ask(subject, body)], subject).toEqual([subject, expect.stringMatching(/^nothing$/)])
  const consumer = await ask(`$JS.API.CONSUMER.CREATE.${stream}.thief.$KV.fleet-desired.thief.>`, {
    stream_name: stream,
    config: {
      name: 'thief',
      filter_subject: '$KV.fleet-desired.pump.>',
      deliver_subject: '_INBOX.thief.x',
      ack_policy: 'none',
    },
  })
  expect(consumer).not.toContain('"created"')
  await stolen.flush()
  // Nothing answers in the account of devices, whatever is asked: what the server refuses tells. The consumer has its own name, and is the operator's to make.
  for (const [subject] of asked)
    expect(
      refused.some((message) => message.includes(`"${subject}"`)),
      subject,
    ).toBe(true)
  expect((await (await desired()).get('pump.shop.web'))?.string()).toBe('secret of the pump')
  expect(await (await desired()).get('thief.shop.web')).toBeNull()
})

// NATS-4
test('attack: a key is looked for in what muster nats logs, and in what others can read', async () => {
  const seeds = await Promise.all(
    (['nats-api', 'nats-fleet'] as const).map(async (name) => readFile(await world.seedOf(name), 'utf8')),
  )
  const log = JSON.stringify(world.keeper.log()) + world.keeper.output()
  const users = await readFile(join(world.folder, 'muster-nats/users.conf'), 'utf8')
  for (const seed of [...seeds, await readFile(join(world.folder, 'muster-nats/system.nk'), 'utf8')]) {
    expect(seed.trim()).toMatch(/^SU[A-Z2-7]{56}$/)
    expect(log).not.toContain(seed.trim())
    expect(users).not.toContain(seed.trim())
  }
  expect(log).not.toContain('PRIVATE KEY')
})

// NATS-4, NATS-5, NATS-6
test('a key that was deleted is made anew, and a client that follows its file goes on with it', async () => {
  const credentials = await world.seedOf('nats-api')
  const before = await readFile(credentials, 'utf8')
  const broker = await openBroker({ url: world.nats.url, credentials, ca: await world.ca(), log: silent })
  await plane.kubectl('delete', 'secret', 'nats-api', `--namespace=${world.namespace}`)
  await vi.waitFor(async () => {
    const next = await world.seedOf('nats-api')
    expect(await readFile(next, 'utf8')).not.toBe(before)
  }, PATIENCE)
  const former = { tls: { caFile: await world.ca() }, authenticator: nkeyAuthenticator(Buffer.from(before)) }
  await vi.waitFor(() => expect(world.open(former)).rejects.toThrow(/authorization/i), PATIENCE)
  // The server has ended what the former key had opened.
  await vi.waitFor(() => broker.connected().stream.publish(`${EVENT_SUBJECTS}.clusters`, 'after'), PATIENCE)
  await broker.close()
})

// NATS-15
test('what signs entries is made once and is nowhere in NATS; one that was deleted is made anew, and the log says what devices need', async () => {
  const read = (kind: 'secret' | 'configmap', path: string) =>
    plane.kubectl('get', kind, 'fleet-signing', `--namespace=${world.namespace}`, `-o=jsonpath=${path}`)
  const keys = async () => Buffer.from(await read('secret', '{.data.keys\\.pem}'), 'base64').toString()
  const published = () => read('configmap', '{.data.public\\.pem}')
  const pem = await keys()
  expect(await published()).toBe(publicKeysOf(readSigningKeys(pem)))
  for (const file of await readdir(world.folder, { recursive: true, withFileTypes: true }))
    if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), 'utf8')).not.toContain(pem)

  // What people changed is put right, and what they added to the Secret is published.
  const change = (kind: 'secret' | 'configmap', patch: object) =>
    plane.kubectl(
      'patch',
      kind,
      'fleet-signing',
      `--namespace=${world.namespace}`,
      '--type=merge',
      '-p',
      JSON.stringify(patch),
    )
  await change('configmap', { data: { 'public.pem': 'mine' } })
  await vi.waitFor(async () => expect(await published()).toBe(publicKeysOf(readSigningKeys(pem))), PATIENCE)
  const next = newSigningKey()
  await change('secret', { stringData: { 'keys.pem': `${next}${pem}` } })
  await vi.waitFor(async () => expect(readPublicKeys(await published())).toHaveLength(2), PATIENCE)

  // A slip in it holds up nothing else of NATS.
  await change('secret', { stringData: { 'keys.pem': 'nothing' } })
  await world.keeper.line(({ msg }) => msg.startsWith("the keys that sign entries for devices can't be kept"))
  const device = newDevice()
  await world.declare({ pump: pump.publicKey, thief: thief.publicKey, late: device.publicKey })
  await world.lets(device)

  await plane.kubectl('delete', 'secret', 'fleet-signing', `--namespace=${world.namespace}`)
  await vi.waitFor(async () => {
    expect(readSigningKeys(await keys())).toHaveLength(1)
    expect(await published()).toBe(publicKeysOf(readSigningKeys(await keys())))
  }, PATIENCE)
  expect(await keys()).not.toBe(pem)
  await world.keeper.line(({ level, msg }) => level === 'warn' && msg.includes('bring devices the public keys'))
  expect(JSON.stringify(world.keeper.log())).not.toContain('PRIVATE KEY')
})

// NATS-6
test('events of tasks come from this server, and their dead letters are listed, by the files that the operator names', async () => {
  const files = { credentials: await world.seedOf('nats-api'), ca: await world.ca() }
  const source = jetStreamSource({
    url: world.nats.url,
    files,
    name: 'test',
    consumer: 'one',
    resourceType: 'clusters',
    visibilityMs: 30_000,
    onDeadLetter: () => undefined,
  })
  await source.open(new AbortController().signal)
  await source.close()
  const flags = [`--nats-url=${world.nats.url}`, `--nats-credentials=${files.credentials}`]
  expect(await muster(['adapter', 'dead-letters', ...flags, `--nats-ca=${files.ca}`])).toMatchObject({ code: 0 })
  expect(await muster(['adapter', 'dead-letters', ...flags])).toMatchObject({
    code: 3,
    output: expect.stringContaining('certificate'),
  })
})

// NATS-5
test('a slip in one device’s key leaves that device out, and no other', async () => {
  const [one, two] = [newDevice(), newDevice()]
  await world.declare({
    pump: pump.publicKey,
    thief: thief.publicKey,
    mistyped: one.publicKey.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    Upper: newDevice().publicKey,
    copy: pump.publicKey,
    two: two.publicKey,
  })
  await world.lets(two)
  for (const name of ['mistyped', 'Upper', 'pump'])
    await world.keeper.line(({ level, msg }) => level === 'warn' && msg.startsWith(`nats-devices: ${name} `))
  // Removed, it is let in no more.
  const connection = await world.asDevice(two)
  await world.declare({ pump: pump.publicKey, thief: thief.publicKey })
  await connection.closed()
  await expect(world.asDevice(two)).rejects.toThrow(/authorization/i)
})

// NATS-3
test('a certificate that is gone is replaced while the server runs, and clients that know the authority go on', async () => {
  const path = join(world.folder, 'muster-nats/tls.crt')
  const before = await readFile(path, 'utf8')
  await writeFile(path, '')
  await vi.waitFor(async () => expect(await readFile(path, 'utf8')).toContain('BEGIN CERTIFICATE'), PATIENCE)
  expect(await readFile(path, 'utf8')).not.toBe(before)
  // While the server reads its configuration again it refuses clients that have not shown their key yet (AGENT-19).
  const client = await vi.waitFor(() => world.as('nats-fleet'), PATIENCE)
  await client.flush()
})

// NATS-7
test('what a server without users had is in the accounts of those who need it: buckets with their revisions, events with their consumers', async () => {
  const store = await temporaryFolder('former')
  const former = await startNatsOn(await ensureBinaries(CONTROL_PLANE, console.error), store)
  const connection = await connect({ servers: former.url })
  const manager = await jetstreamManager(connection)
  for (const settings of Object.values(BUCKETS)) await ensureBucket({ connection, manager }, settings, silent)
  const broker = await openBroker({ url: former.url, log: silent })
  const kv = await new Kvm(connection).open(BUCKETS.desired.name)
  const revision = await kv.put('pump.shop.web', 'as before')
  await manager.consumers.add('hyperfleet-events', { durable_name: 'dns' })
  await jetstream(connection).publish(`${EVENT_SUBJECTS}.clusters`, 'one')
  await manager.streams.add({ name: 'of-others', subjects: ['other'] })
  const created = (await manager.streams.info('KV_fleet-desired')).created
  await broker.close()
  await connection.close()
  await former.stop()

  await using after = await natsWorld(plane, store)
  const [api, fleet] = [await after.as('nats-api'), await after.as('nats-fleet')]
  expect(await (await new Kvm(fleet).open(BUCKETS.desired.name)).get('pump.shop.web')).toMatchObject({ revision })
  const streams = (await jetstreamManager(fleet)).streams
  // The same incarnation: the operator takes it for the store that it knows.
  expect((await streams.info('KV_fleet-desired')).created).toBe(created)
  const message = await (await jetstream(api).consumers.get('hyperfleet-events', 'dns')).next({ expires: 10_000 })
  expect(message?.string()).toBe('one')
  expect(await streamsOf(api)).toEqual(['hyperfleet-events'])
  await after.keeper.line(({ level, stream }) => level === 'warn' && stream === 'of-others')
})

// NATS-16
test('a server without users that comes back to a store that had users is healthy, finds nothing of theirs, and leaves it as it is', async () => {
  const store = await temporaryFolder('former')
  const was = await natsWorld(plane, store)
  const kv = await new Kvm(await was.as('nats-fleet')).create('mine')
  await kv.put('a', 'kept')
  await was[Symbol.asyncDispose]()

  const port = await freePort()
  const config = join(store, 'former.conf')
  await writeFile(config, `http_port: ${port}\n`)
  const former = await startNatsOn(await ensureBinaries(CONTROL_PLANE, console.error), store, config)
  const healthy = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).status
  await expect.poll(healthy).toBe(200)
  const connection = await connect({ servers: former.url })
  expect(await streamsOf(connection)).toEqual([])
  await connection.close()
  await former.stop()

  await using after = await natsWorld(plane, store)
  const found = await jetstreamManager(await after.as('nats-fleet'))
  expect((await found.streams.info('KV_mine')).state.messages).toBe(1)
})

// NATS-3, NATS-5
test('an authority that was deleted is made anew, and the server goes on with it: what changes then is in force', async () => {
  await using own = await natsWorld(plane)
  await own.as('nats-fleet')
  await plane.kubectl('delete', 'secret', 'nats-authority', `--namespace=${own.namespace}`)
  await own.keeper.line('NATS has a new certificate')
  const late = newDevice()
  await own.declare({ late: late.publicKey })
  await own.lets(late)
})
