/** NATS as it fails: away, too old, wiped, with other settings, with entries that can't be read. */
import { createServer, type Server } from 'node:net'
import { DiscardPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tcpProxy } from '#test/harness/index.ts'
import { type FleetWorld, fleetWorld, type Running } from './world.ts'

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** To headers by which a device would do something to others. */
const CLOSED = { allow_rollup_hdrs: false, duplicate_window: 100_000_000 }

const phase = (operator: Running) => operator.view.recovery().phase
const converged = (operator: Running) => world.until(() => expect(phase(operator)).toBe('Converged'))

/** Two devices that were given `web` and run it. */
const deployed = async () => {
  const machines = [await world.device('a'), await world.device('b')] as const
  await world.deploy('web')
  for (const machine of machines) {
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
    await machine.say('web')
  }
  return machines
}

const manage = async <T>(use: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  try {
    return await use(await jetstreamManager(connection))
  } finally {
    await connection.close()
  }
}

/** What a Deployment says of whether it is under way. */
const reconciling = async (name: string) => {
  const { status } = (await world.deployment(name)) ?? {}
  const condition = status?.conditions?.find(({ type }) => type === 'Reconciling')
  return { ...condition, generation: status?.observedGeneration }
}

// FLEET-11, FLEET-19
test('nats_down_at_start: the operator and each Deployment say why nothing goes on, and all converges when NATS comes', async () => {
  await world.nats.kill()
  await world.deploy('early')
  const operator = await world.operator()
  await world.until(() => {
    const { phase: is, sources } = operator.view.recovery()
    expect(is).toBe('Recovering')
    expect(sources.states).toMatchObject({ problem: expect.stringContaining('does not answer') })
  })
  await world.until(async () =>
    expect(await reconciling('early')).toMatchObject({ status: 'True', reason: 'NatsUnavailable', generation: 1 }),
  )
  await world.nats.restart()
  await converged(operator)
  await world.until(async () => expect(await reconciling('early')).toMatchObject({ status: 'False' }))
})

// FLEET-11
test('nats_restart_mid_watch: Degraded while it is away, and what happened meanwhile is known after', async () => {
  const operator = await world.operator()
  await converged(operator)
  const [a] = await deployed()
  const aggregate = async () => (await world.deployment('web'))?.status?.aggregate
  await world.until(async () => expect(await aggregate()).toMatchObject({ matched: 2 }))
  await world.nats.kill()
  await world.until(() => expect(operator.view.recovery().sources.states).toMatchObject({ phase: 'Degraded' }))
  await world.deploy('late')
  // The numbers stay, and are said to be old.
  await world.until(async () =>
    expect(await reconciling('web')).toMatchObject({
      status: 'True',
      reason: 'NatsUnavailable',
      message: expect.stringContaining('the numbers are of before'),
    }),
  )
  expect(await aggregate()).toMatchObject({ matched: 2 })
  await world.nats.restart()
  await world.until(async () => expect(await a.wanted()).toEqual({ web: 1, late: 1 }))
  await converged(operator)
  // Nothing of what was there was written again.
  expect(await world.revision('fleet-desired')).toBe(4)
  await world.until(async () => expect((await reconciling('web')).reason).not.toBe('NatsUnavailable'))
})

// FLEET-13
test('kv_wiped_reseeds_all_devices: buckets that were deleted are made anew, and every key is written again', async () => {
  await using proxy = await tcpProxy(world.nats.url)
  const operator = await world.operator({ natsUrl: proxy.url })
  await converged(operator)
  const machines = await deployed()
  const before = await world.texts('fleet-desired')
  await manage(async ({ streams }) => {
    for (const bucket of ['desired', 'state', 'heartbeat', 'info']) await streams.delete(`KV_fleet-${bucket}`)
  })
  await world.until(async () => expect(await world.texts('fleet-desired')).toEqual(before))
  await converged(operator)
  for (const machine of machines) await machine.beat()
  await world.until(() =>
    expect(operator.view.ofDeployment(`${world.namespace}/web`).map(({ phase }) => phase)).toEqual([
      'unreported',
      'unreported',
    ]),
  )
  // The session that ended has left none behind.
  await world.until(() => expect(proxy.connections()).toBe(1))
})

// FLEET-12
test('buckets in which only the operators of other namespaces have keys are read at once', async () => {
  const first = await world.operator()
  await converged(first)
  await first.stop()
  for (const name of ['fleet-desired', 'fleet-state'] as const)
    await world.bucket(name, (kv) => kv.put('elsewhere.another.web', '{}'))
  await converged(await world.operator())
  await deployed()
})

test('a bucket without its deletions, as `nats kv compact` leaves it: a key that was deleted is written again', async () => {
  const operator = await world.operator()
  await converged(operator)
  const [a] = await deployed()
  await a.tell({ world: 'another' })
  await world.until(async () => expect(await a.wanted()).toEqual({}))
  await manage(({ streams }) => streams.purge('KV_fleet-desired', { filter: `$KV.fleet-desired.${a.name}.>` }))
  await a.tell({})
  await world.until(async () => expect(await a.wanted()).toEqual({ web: 1 }))
})

// FLEET-18
test('buckets are made with what they need, changed ones are brought back, and what would lose something is refused', async () => {
  const operator = await world.operator()
  await converged(operator)
  await operator.stop()
  const settings = (bucket: string) => manage(async ({ streams }) => (await streams.info(`KV_${bucket}`)).config)
  expect(await settings('fleet-heartbeat')).toMatchObject({
    max_age: 90_000_000_000,
    ...CLOSED,
    max_msgs_per_subject: 1,
  })
  const value = (await settings('fleet-state')).max_msg_size
  await manage(({ streams }) => streams.update('KV_fleet-state', { max_msg_size: 100 }))
  const again = await world.operator()
  await converged(again)
  expect((await settings('fleet-state')).max_msg_size).toBe(value)
  await again.stop()

  await manage(async ({ streams }) => {
    await streams.delete('KV_fleet-desired')
  })
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  await new Kvm(connection).create('fleet-desired', { storage: StorageType.Memory })
  await connection.close()
  const refused = await world.operator()
  await world.until(() =>
    expect(refused.view.recovery().sources.states).toMatchObject({
      problem: expect.stringContaining('the bucket fleet-desired is in memory and must be in file'),
    }),
  )
})

// NATS-12
test('a bucket that an operator of an earlier release opened to rollups is closed again, under a session that goes on', async () => {
  const operator = await world.operator()
  await converged(operator)
  const open = { allow_msg_ttl: true, subject_delete_marker_ttl: 90_000_000_000, allow_rollup_hdrs: true }
  await manage(({ streams }) => streams.update('KV_fleet-heartbeat', { ...open, duplicate_window: 60_000_000_000 }))
  await world.until(async () => {
    const { config } = await manage(({ streams }) => streams.info('KV_fleet-heartbeat'))
    expect(config).toMatchObject(CLOSED)
    expect(config.subject_delete_marker_ttl ?? 0).toBe(0)
  })
  expect(phase(operator)).toBe('Converged')
})

// NATS-24
test('attack: who may change buckets has them lose, refuse, hide or copy entries; the settings are put right, and every device has its entry', async () => {
  const operator = await world.operator()
  await converged(operator)
  const machines = await deployed()
  const settings = () => manage(async ({ streams }) => (await streams.info('KV_fleet-desired')).config)
  const before = await settings()
  for (const change of [
    { max_msgs: 1 },
    { max_msgs: 1, discard: DiscardPolicy.Old },
    { no_ack: true },
    { subject_transform: { src: '$KV.fleet-desired.>', dest: 'elsewhere.>' } },
    { republish: { src: '>', dest: 'copied.>' } },
    { consumer_limits: { inactive_threshold: 3_600_000_000_000 } },
  ]) {
    await manage(({ streams }) => streams.update('KV_fleet-desired', change))
    await world.until(async () => expect({ ...change, ...(await settings()) }).toEqual({ ...change, ...before }))
  }
  for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1 }))
  await world.deploy('next')
  for (const machine of machines)
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1, next: 1 }))
})

// NATS-24
test('attack: a bucket whose revisions begin where they can’t be counted, or with one consumer, is named, and what to do', async () => {
  const operator = await world.operator()
  await converged(operator)
  const named = (part: string) =>
    world.until(() =>
      expect(operator.view.recovery().sources.states).toMatchObject({ problem: expect.stringContaining(part) }),
    )
  const remove = () => manage(({ streams }) => streams.delete('KV_fleet-desired'))
  await manage(({ streams }) => streams.purge('KV_fleet-desired', { seq: 2 ** 60 }))
  await named("where they can't be counted")
  await remove()
  await converged(operator)
  await deployed()
  await operator.stop()
  await remove()
  await manage(({ streams }) =>
    streams.add({ name: 'KV_fleet-desired', subjects: ['$KV.fleet-desired.>'], max_consumers: 1 }),
  )
  const again = await world.operator()
  await world.until(() =>
    expect(again.view.recovery().sources.states).toMatchObject({
      problem: expect.stringContaining('has 1 consumers at most'),
    }),
  )
})

// FLEET-16
test('malformed_kv_entry: it is counted, logged and skipped, and everything else goes on', async () => {
  const operator = await world.operator()
  await converged(operator)
  const [a] = await deployed()
  const envelope = (value: string) => `{"schema":1,"generation":1,"digest":"sha256:00","payload":{"uid":${value}}}`
  await world.bucket('fleet-state', async (kv) => {
    await kv.put(`${a.name}.${world.namespace}.web`, 'no JSON')
    await kv.put('Not_A_Key', '{}')
    // JSON that no canonical JSON says, so that it has no digest.
    await kv.put(`${a.name}.${world.namespace}.half`, envelope('"\\ud83d"'))
    await kv.put(`${a.name}.${world.namespace}.huge`, envelope('1e999'))
  })
  await world.bucket('fleet-info', (kv) => kv.put(a.name, '{"schema":99}'))
  await world.deploy('next')
  await world.until(async () => expect(await a.wanted()).toEqual({ web: 1, next: 1 }))
  const counted = await operator.registry.getSingleMetricAsString('muster_fleet_malformed_entries_total')
  expect(counted).toContain('{bucket="states",reason="Json"} 3')
  expect(counted).toContain('{bucket="infos",reason="Schema"} 1')
  expect(operator.lines.filter((line) => line.includes('an entry is malformed'))).not.toEqual([])
  expect(phase(operator)).toBe('Converged')
})

// FLEET-10
test('clock_going_backwards_device, duplicate_and_out_of_order_state: the store decides what came last, not the clock of the device', async () => {
  const operator = await world.operator()
  await converged(operator)
  const [a] = await deployed()
  const rows = () => operator.view.ofDeployment(`${world.namespace}/web`).find(({ device }) => device === a.name)
  await a.say('web', { phase: 'Failed', at: '2001-01-01T00:00:00Z', message: 'it broke' })
  await world.until(() => expect(rows()).toMatchObject({ phase: 'failed', message: 'it broke' }))
  await a.say('web', { phase: 'Running', at: '1999-01-01T00:00:00Z' })
  await a.say('web', { phase: 'Running', at: '1999-01-01T00:00:00Z' })
  await world.until(() => expect(rows()).toMatchObject({ phase: 'succeeded' }))
})

// FLEET-17
test('a NATS that is too old is named, with what to run instead', async () => {
  const old = await oldServer()
  const operator = await world.operator({ natsUrl: old.url })
  await world.until(() =>
    expect(operator.view.recovery().sources.states).toMatchObject({
      problem: expect.stringMatching(/is 2\.10\.9: run 2\.11 or newer$/),
    }),
  )
  await operator.stop()
  old.server.close()
})

// FLEET-20
test('cancel is clean: after stop no connection to NATS is left, and nothing is written', async () => {
  await using proxy = await tcpProxy(world.nats.url)
  const operator = await world.operator({ natsUrl: proxy.url })
  await converged(operator)
  const machines = await deployed()
  await operator.stop()
  await world.until(() => expect(proxy.connections()).toBe(0))
  const written = await world.revision('fleet-desired')
  await world.deploy('late')
  // Another one writes what it should, once: by then the one that was stopped has had all the time to write it too.
  await world.operator()
  for (const machine of machines)
    await world.until(async () => expect(await machine.wanted()).toEqual({ web: 1, late: 1 }))
  expect(await world.revision('fleet-desired')).toBe(written + machines.length)
  expect(proxy.connections()).toBe(0)
  expect(operator.lines.filter((line) => line.startsWith('error'))).toEqual([])
})

/** As much of an old server as one sees before anything is asked of it. */
const oldServer = async (): Promise<{ url: string; server: Server }> => {
  const server = createServer((socket) => {
    const info = {
      server_id: 'old',
      version: '2.10.9',
      proto: 1,
      headers: true,
      max_payload: 1_048_576,
      jetstream: true,
    }
    socket.write(`INFO ${JSON.stringify(info)}\r\n`)
    socket.on('data', (data) => data.toString().includes('PING') && socket.write('PONG\r\n'))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { url: `nats://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, server }
}

// NATS-9
test('the operator makes the consumers of devices, and a device that floods it with requests keeps it from nothing', async () => {
  const operator = await world.operator()
  await converged(operator)
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  const subject = 'muster.fleet.consumers.CREATE.KV_fleet-desired.pump.$KV.fleet-desired.pump.>'
  const body = JSON.stringify({ config: { deliver_subject: '_INBOX.pump.one', metadata: { a: 'x'.repeat(10_000) } } })
  const ask = async () => (await connection.request(subject, body, { timeout: 5_000 })).json()
  expect(await ask()).toMatchObject({ name: 'pump', config: { filter_subject: '$KV.fleet-desired.pump.>' } })
  expect(await ask()).not.toHaveProperty('config.metadata.a')
  let answers = 0
  connection.subscribe('_INBOX.pump.answers', {
    callback: (_error, { data }) => {
      if (data.length > 0) answers += 1
    },
  })
  for (let n = 0; n < 20_000; n += 1) connection.publish(subject, body, { reply: '_INBOX.pump.answers' })
  await connection.flush()
  const [a] = await deployed()
  expect(await a.wanted()).toEqual({ web: 1 })
  expect(phase(operator)).toBe('Converged')
  await world.until(async () => expect(await ask()).toHaveProperty('config'))
  expect(answers).toBeLessThan(2_000)
  await operator.stop()
  // A busy server notices a moment later that its connection is gone.
  await world.until(() => expect(ask()).rejects.toThrow('no responders'))
  await connection.close()
})

// NATS-14
test('attack: a device that shares the account of the buckets names the entry of another as the place of an answer; nothing is written there', async () => {
  const operator = await world.operator()
  await converged(operator)
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  const body = JSON.stringify({ config: { deliver_subject: '_INBOX.pump.one' } })
  const requests = [
    'muster.fleet.consumers.CREATE.KV_fleet-desired.pump.$KV.fleet-desired.pump.>',
    'muster.fleet.consumers.CREATE.KV_fleet-desired.pump.elsewhere',
    'muster.fleet.consumers.DELETE.KV_fleet-desired.pump',
  ]
  const places = ['$KV.fleet-desired.victim.shop.web', '$KV.fleet-state.victim.shop.web', '$KV.fleet-heartbeat.victim']
  for (const subject of requests) {
    for (const reply of places) connection.publish(subject, body, { reply })
    // What is asked later is answered later.
    await world.until(() => connection.request(subject, body, { timeout: 5_000 }))
  }
  for (const bucket of ['fleet-desired', 'fleet-state', 'fleet-heartbeat'] as const)
    expect(Object.keys(await world.texts(bucket)).filter((key) => key.startsWith('victim'))).toEqual([])
  await connection.close()
})
