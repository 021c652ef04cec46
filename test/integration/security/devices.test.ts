/** What a thief can do with the key of one device, which allows the NATS subjects of that device alone. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { type ConnectionOptions, connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { MAX_VALUE_BYTES } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { writeCredentials } from '#cmd/fleet/credentials.ts'
import { serveDeviceConsumers } from '#controllers/fleet/nats/device-consumers.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { EVENTS } from '#operator/client/event-object.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { openBroker } from '#services/hyperfleet-api/events/jetstream/broker.ts'
import { startNats } from '#test/harness/index.ts'
import { fleetWorld } from '../fleet/world.ts'

vi.setConfig({ testTimeout: 180_000 })

const SHIPPED = join(import.meta.dirname, '../../../kustomize/base/nats/nats.conf')

/** nats-server with the configuration that is delivered, but for the places of a pod, and for its users: nats-users.test.ts. @param folder of users that `muster fleet credentials` wrote */
const shippedNats = async (folder?: string) => {
  const here = folder ?? (await temporaryFolder('shipped-nats'))
  const config = join(here, 'nats.conf')
  const shipped = await readFile(SHIPPED, 'utf8')
  const own = shipped.replace(/^(http_port|include).*$/gm, '').replace(/^ *store_dir:.*$/m, '')
  await writeFile(config, folder === undefined ? own : `${own}\ninclude ./nats-users.conf\n`)
  const nats = await startNats(config)
  onTestFinished(() => nats.stop())
  return nats
}

const connected = async (url: string, more: ConnectionOptions = {}): Promise<NatsConnection> => {
  const connection = await connect({ servers: url, ...more })
  onTestFinished(() => connection.close())
  return connection
}

/** More than the store of the server that is delivered. */
const MORE_THAN_THE_STORE = 1.2 * 2 ** 30
const AT_ONCE = 256

/** Writes reports of Deployments that do not exist, as fast as it goes. @returns bytes that NATS took before it refused */
const flood = async (
  connection: NatsConnection,
  device: string,
  namespace = 'shop',
  most = MORE_THAN_THE_STORE,
): Promise<number> => {
  const client = jetstream(connection)
  const report = new Uint8Array(MAX_VALUE_BYTES.state)
  for (let count = 0; count * report.length < most; count += AT_ONCE) {
    const writes = Array.from({ length: AT_ONCE }, (_, n) =>
      client.publish(`$KV.${BUCKETS.state.name}.${device}.${namespace}.none-${count + n}`, report),
    )
    const refused = (await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected').length
    if (refused > 0) return (count + AT_ONCE - refused) * report.length
  }
  return most
}

// FLEET-90, API-120
test('attack: one device fills the store of NATS; what others are to run, their reports, and events still go in', async () => {
  const nats = await shippedNats()
  const [operator, thief] = [await connected(nats.url), await connected(nats.url)]
  const manager = await jetstreamManager(operator)
  for (const settings of Object.values(BUCKETS)) await ensureBucket({ connection: operator, manager }, settings, silent)
  const broker = await openBroker({ url: nats.url, log: silent })
  onTestFinished(() => broker.close())
  const open = (bucket: string) => new Kvm(operator).open(bucket)
  const [desired, states, beats] = [
    await open(BUCKETS.desired.name),
    await open(BUCKETS.state.name),
    await open(BUCKETS.heartbeat.name),
  ]
  await states.put('honest.shop.web', 'Pending')

  expect(await flood(thief, 'stolen')).toBeLessThan(MORE_THAN_THE_STORE)

  await desired.put('honest.shop.web', 'x'.repeat(100_000))
  await states.put('honest.shop.web', 'Running')
  await beats.put('honest', 'here')
  await jetstream(operator).publish(`${EVENT_SUBJECTS}.clusters`, 'x'.repeat(10_000))
})

// FLEET-92
test('attack: reports of a stolen device crowd out those of others; they are removed, nothing of others is, and a person is told', async () => {
  await using world = await fleetWorld()
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  const [stolen, honest] = [await world.device('stolen'), await world.device('honest')]
  await world.deploy('web')
  for (const machine of [stolen, honest]) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
    await machine.say('web')
  }
  await world.until(async () =>
    expect((await world.deployment('web'))?.status?.aggregate).toMatchObject({ succeeded: 2 }),
  )
  const before = (await world.texts('fleet-state'))[`${honest.name}.${world.namespace}.web`]

  await flood(await connected(world.nats.url), stolen.name, world.namespace, 500 * MAX_VALUE_BYTES.state)
  await world.until(async () => {
    const keys = Object.keys(await world.texts('fleet-state'))
    expect(keys.filter((key) => key.startsWith(`${stolen.name}.`)).length).toBeLessThanOrEqual(100)
  })

  expect((await world.texts('fleet-state'))[`${honest.name}.${world.namespace}.web`]).toBe(before)
  expect(await world.texts('fleet-desired')).toHaveProperty([`${honest.name}.${world.namespace}.web`])
  expect(operator.view.recovery().phase).toBe('Converged')
  expect(operator.view.ofDeployment(`${world.namespace}/web`)).toMatchObject([
    { phase: 'succeeded' },
    { phase: 'succeeded' },
  ])
  await world.until(async () => {
    const events = await Array.fromAsync(world.kube.list(EVENTS, { namespace: 'default' }))
    const told = events.filter(
      ({ reason, regarding }) => reason === 'ReportsCleared' && regarding?.name === stolen.name,
    )
    expect(told).not.toEqual([])
  })
  const metric = await operator.registry.getSingleMetricAsString('muster_fleet_cleared_reports_total')
  expect(Number(/total (\d+)/.exec(metric)?.[1])).toBeGreaterThan(100)
})

// FLEET-93
test('attack: a device chooses the labels that Deployments select by; they are its operator’s, and it gets nothing by them', async () => {
  await using world = await fleetWorld()
  const operator = await world.operator({ deviceLabels: ['site'] })
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  await world.deploy('secret', { targetSelector: { matchLabels: { vault: 'yes' } } })
  const [thief, vault] = [await world.device('thief', { vault: 'yes', site: 'north' }), await world.device('vault')]
  const device = async (name: string) => world.kube.get(Device, name)
  await world.until(async () => expect(await device(vault.name)).toBeDefined())
  const own = { world: world.namespace, vault: 'yes' }
  await world.kube.patch(Device, { name: vault.name, type: 'merge', body: { metadata: { labels: own } } })
  await world.until(async () => expect(await vault.wanted()).toEqual({ secret: 1 }))

  const { metadata } = (await device(thief.name)) ?? {}
  expect(metadata?.labels).toEqual({ site: 'north' })
  expect(metadata?.annotations).toMatchObject({
    'fleet.nationtech.io/reported-labels': expect.stringContaining('vault=yes'),
  })
  expect(await thief.wanted()).toEqual({})

  // Labels that a person has set stay, whatever the agent says.
  await vault.tell({ vault: 'no', site: 'south' })
  await world.until(async () => expect((await device(vault.name))?.metadata.labels).toEqual({ ...own, site: 'south' }))
  expect(await vault.wanted()).toEqual({ secret: 1 })
  await world.kube.delete(Device, thief.name)
})

// AGENT-40
test('attack: a device makes consumers without end, which hold memory of NATS; it has one', async () => {
  const folder = await temporaryFolder('users')
  await writeCredentials(['stolen'], folder)
  const nats = await shippedNats(folder)
  const authenticator = async (file: string) =>
    nkeyAuthenticator(new TextEncoder().encode((await readFile(join(folder, file), 'utf8')).trim()))
  const operator = await connected(nats.url, { authenticator: await authenticator('operator.nk') })
  const manager = await jetstreamManager(operator)
  await ensureBucket({ connection: operator, manager }, BUCKETS.desired, silent)
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  void serveDeviceConsumers({ connection: operator, manager }, systemClock, ending.signal)
  await operator.flush()

  const inboxPrefix = '_INBOX.stolen'
  const thief = await connected(nats.url, { inboxPrefix, authenticator: await authenticator('devices/stolen.nk') })
  const stream = `KV_${BUCKETS.desired.name}`
  const make = async (name: string, more: object) => {
    const filter_subject = `$KV.${BUCKETS.desired.name}.stolen.>`
    const config = { name, filter_subject, ack_policy: 'none', deliver_subject: `${inboxPrefix}.${name}`, ...more }
    const body = JSON.stringify({ stream_name: stream, config })
    await thief.request(`$JS.API.CONSUMER.CREATE.${stream}.${name}.${filter_subject}`, body).catch(() => undefined)
  }
  for (let n = 0; n < 20; n += 1) {
    await make(`one-more-${n}`, n % 2 === 0 ? {} : { durable_name: `one-more-${n}` })
    await make('stolen', { metadata: { n: String(n) } })
  }
  const consumers = await Array.fromAsync(manager.consumers.list(stream))
  expect(consumers.map(({ name }) => name)).toEqual(['stolen'])
})

// FLEET-16
test('attack: a stolen key has what its device says of itself such that no operator can read it: operators begin, and give other devices what is theirs', async () => {
  await using world = await fleetWorld()
  const before = await world.operator()
  await world.until(() => expect(before.view.recovery().phase).toBe('Converged'))
  const [stolen, other] = [await world.device('a'), await world.device('b')]
  await before.stop()
  const levels = 40_000
  const digest = `${'['.repeat(levels)}${']'.repeat(levels)}`
  const written = Buffer.from(`{"schema":1,"generation":0,"digest":${digest},"payload":{}}`)
  await world.bucket('fleet-info', (kv) => kv.put(stolen.name, written))
  await world.operator()
  await world.deploy('web')
  await world.until(async () => expect(Object.keys(await other.wanted())).toEqual(['web']))
})
