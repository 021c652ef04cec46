/**
 * What a thief can have nats-server do with the key of one device: by replies, by headers and by consumers, for which a server acts with
 * its own rights. NATS as it is delivered: docs/spec/nats.md.
 */
import {
  type ConsumerInfo,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { MAX_VALUE_BYTES } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { serveDeviceConsumers } from '#controllers/fleet/nats/device-consumers.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { devicePermissions } from '#services/agent/nats/device-permissions.ts'
import { watchDesired } from '#services/agent/nats/watch-desired.ts'
import { openBroker } from '#services/hyperfleet-api/events/jetstream/broker.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { type NatsWorld, natsWorld, newDevice, PATIENCE } from './nats-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const plane = await sharedControlPlane()
const [thief, victim] = [newDevice(), newDevice()]
const ending = new AbortController()
const STREAM = 'KV_fleet-desired'
let world: NatsWorld
let operator: NatsConnection
let managers: readonly JetStreamManager[]
let stolen: NatsConnection
const heard: string[] = []

beforeAll(async () => {
  world = await natsWorld(plane)
  await world.declare({ thief: thief.publicKey, victim: victim.publicKey })
  await world.lets(victim)
  operator = await world.as('nats-fleet')
  const manager = await jetstreamManager(operator)
  for (const settings of Object.values(BUCKETS)) await ensureBucket({ connection: operator, manager }, settings, silent)
  await manager.streams.add({ name: 'other', subjects: ['other'] })
  const files = { credentials: await world.seedOf('nats-api'), ca: await world.ca() }
  await (await openBroker({ url: world.nats.url, ...files, log: silent })).close()
  managers = [manager, await jetstreamManager(await world.as('nats-api'))]
  void serveDeviceConsumers({ connection: operator, manager }, systemClock, ending.signal)
  for (const subject of OWN_BY_OTHERS.slice(0, 5)) await jetstream(operator).publish(subject, 'as it was')
  void watch()
  await vi.waitFor(() => expect(heard).toEqual(['victim.shop.web']), PATIENCE)
  stolen = await world.asDevice(thief, { inboxPrefix: '_INBOX.thief' })
}, 180_000)
afterAll(async () => {
  ending.abort()
  await world?.[Symbol.asyncDispose]()
})

/** The agent of the victim; it hears of its entry once, as long as its consumer is left alone. */
const watch = async () => {
  const listener = {
    onEntry: async (key: string) => void heard.push(key),
    onDeleted: async () => undefined,
    onLost: () => undefined,
    onReplayed: () => undefined,
  }
  const connection = await world.asDevice(victim, { inboxPrefix: '_INBOX.victim' })
  while (!ending.signal.aborted)
    await watchDesired(connection, 'victim', listener, ending.signal).catch(() => undefined)
}

/** Subjects at which a server's answer would do something: entries of buckets first. */
const OWN_BY_OTHERS = [
  '$KV.fleet-desired.victim.shop.web',
  '$KV.fleet-desired.thief.shop.web',
  '$KV.fleet-state.victim.shop.web',
  '$KV.fleet-info.victim',
  '$KV.fleet-heartbeat.victim',
  'other',
  `${EVENT_SUBJECTS}.clusters`,
  `$JS.API.STREAM.PURGE.${STREAM}`,
  '$JS.API.STREAM.DELETE.other',
  '$JS.API.STREAM.CREATE.mine',
  `$JS.API.CONSUMER.DELETE.${STREAM}.victim`,
  `$JS.API.CONSUMER.RESET.${STREAM}.victim`,
  `$JS.API.CONSUMER.CREATE.${STREAM}.victim.$KV.fleet-desired.victim.>`,
  `muster.fleet.consumers.CREATE.${STREAM}.victim.$KV.fleet-desired.victim.>`,
  `$JS.FC.${STREAM}.victim.x`,
  `$JS.ACK.${STREAM}.victim.1.1.1.1.1`,
  '$SYS.REQ.SERVER.PING',
]

/** One of each kind that a device may publish to, as agents write them too. */
const ALLOWED = [
  ...devicePermissions('thief').publish.map((subject) =>
    subject.includes('CREATE') ? subject.replace('*', 'x') : subject.replace('*', 'x').replace('>', 'shop.own'),
  ),
  `$JS.API.CONSUMER.CREATE.${STREAM}.thief.$KV.fleet-desired.thief.>`,
  `$JS.API.CONSUMER.DELETE.${STREAM}.thief`,
]

const consumerOf = (more: object) =>
  JSON.stringify({
    stream_name: STREAM,
    config: {
      name: 'thief',
      filter_subject: '$KV.fleet-desired.thief.>',
      ack_policy: 'none',
      deliver_subject: '_INBOX.thief.x',
      ...more,
    },
  })

const withHeader = (name: string, value: string): MsgHdrs => {
  const made = headers()
  made.set(name, value)
  return made
}

/** Ways to have the server write to another subject. */
const VERBS: readonly ((allowed: string, other: string) => void)[] = [
  (allowed, other) => stolen.publish(allowed, '{}', { reply: other }),
  (allowed, other) => stolen.publish(allowed, consumerOf({ metadata: { a: 'x'.repeat(100_000) } }), { reply: other }),
  (allowed, other) => stolen.publish(allowed, '', { headers: withHeader('Nats-Trace-Dest', other) }),
  (allowed, other) =>
    stolen.publish(allowed, '', { reply: other, headers: withHeader('Nats-Expected-Last-Subject-Sequence', '7777') }),
  (allowed, other) => stolen.publish(allowed, '', { reply: other, headers: withHeader('Nats-Rollup', 'sub') }),
  (allowed, other) =>
    stolen.publish(allowed, '', { reply: other, headers: withHeader('Nats-Request-Info', '{"acc":"FLEET"}') }),
]

const isOwn = (subject: string) => /^\$KV\.fleet-(state|info|heartbeat)\.thief(\.|$)/.test(subject)

/** All that is in JetStream and is not the thief's to write. */
const everythingElse = async () => {
  const found: unknown[] = []
  for (const { streams, consumers } of managers)
    for await (const { config, state } of streams.list() as AsyncIterable<StreamInfo>) {
      found.push(config)
      const { num_subjects: _, ...subjects } = (await streams.info(config.name, { subjects_filter: '>' })).state
      for (const subject of Object.keys(subjects.subjects ?? {}).filter((one) => !isOwn(one))) {
        const last = await streams.getMessage(config.name, { last_by_subj: subject })
        found.push([subject, subjects.subjects?.[subject], last?.seq, last?.string()])
      }
      if (state.consumer_count === 0) continue
      for await (const { name, delivered, created } of consumers.list(config.name) as AsyncIterable<ConsumerInfo>)
        if (name !== 'thief') found.push([name, created, delivered.consumer_seq, delivered.stream_seq])
    }
  return found
}

/** Until the server has done what was asked before. */
const settled = async () => {
  await stolen.flush()
  await stolen.request('$KV.fleet-state.thief.shop.end', 'end', { timeout: 20_000 })
  await new Promise((resolve) => setTimeout(resolve, 500))
  await operator.flush()
}

// NATS-8
test('attack: a stolen key has the server answer, trace or deliver to what is another’s, by every subject that it may publish to', async () => {
  const before = await everythingElse()
  for (const allowed of ALLOWED) {
    for (const verb of VERBS) for (const other of OWN_BY_OTHERS) verb(allowed, other)
    await settled()
    expect(await everythingElse(), allowed).toEqual(before)
  }
  expect(heard).toEqual(['victim.shop.web'])
})

// NATS-8
test('attack: a stolen key makes a consumer that delivers to another subject, or another device’s entries', async () => {
  const create = `$JS.API.CONSUMER.CREATE.${STREAM}.thief.$KV.fleet-desired.thief.>`
  const ask = async (config: object) =>
    vi.waitFor(
      async () => (await stolen.request(create, consumerOf(config), { timeout: 5_000 })).json<{ config?: object }>(),
      PATIENCE,
    )
  const refused = { error: { description: expect.stringContaining('deliver_subject must be') } }
  const before = await everythingElse()
  for (const deliver_subject of [...OWN_BY_OTHERS, '_INBOX.victim.x', '_INBOX.thief.>', '_INBOX.thief'])
    for (const more of [{}, { headers_only: true }, { durable_name: 'thief' }])
      expect(await ask({ deliver_subject, ...more }), deliver_subject).toMatchObject(refused)
  expect(await everythingElse()).toEqual(before)

  const got: string[] = []
  stolen.subscribe('_INBOX.thief.x', { callback: (_error, { subject }) => void got.push(subject) })
  const greedy = {
    filter_subject: '$KV.fleet-desired.victim.>',
    filter_subjects: ['$KV.fleet-desired.>'],
    metadata: { a: 'x'.repeat(100_000) },
    durable_name: 'thief',
    inactive_threshold: 0,
    mem_storage: false,
  }
  expect((await ask(greedy)).config).toMatchObject({ filter_subject: '$KV.fleet-desired.thief.>', mem_storage: true })
  const [made] = await Array.fromAsync(managers[0]?.consumers.list(STREAM) ?? [])
  expect(JSON.stringify(made?.config).length).toBeLessThan(1_000)
  await vi.waitFor(() => expect(got).toContain('$KV.fleet-desired.thief.shop.web'), PATIENCE)
  expect(
    got.filter((subject) => subject.startsWith('$KV.') && !subject.startsWith('$KV.fleet-desired.thief.')),
  ).toEqual([])
  expect(heard).toEqual(['victim.shop.web'])
})

// NATS-8, FLEET-90
test('attack: a stolen key floods the server with all that it may publish, and with replies: no other bucket grows, its own to its limit', async () => {
  const before = await everythingElse()
  const report = new Uint8Array(MAX_VALUE_BYTES.state)
  for (let count = 0; count < 1.2 * 2 ** 30; count += 64 * report.length) {
    for (const allowed of ALLOWED)
      for (const reply of OWN_BY_OTHERS.slice(0, 4)) stolen.publish(allowed, consumerOf({ n: count }), { reply })
    const states = Array.from({ length: 64 }, (_, n) => `$KV.${BUCKETS.state.name}.thief.shop.flood-${count + n}`)
    for (const subject of states) stolen.publish(subject, report, { reply: OWN_BY_OTHERS[0] ?? '' })
    await stolen.flush()
  }
  await settled().catch(() => undefined)
  expect(await everythingElse()).toEqual(before)
  const streams = (await Array.fromAsync(managers[0]?.streams.list() ?? [])) as readonly StreamInfo[]
  const used = Object.fromEntries(streams.map(({ config, state }) => [config.name, state.bytes]))
  expect(used['KV_fleet-state']).toBeLessThanOrEqual(BUCKETS.state.maxBytes)
  for (const name of ['KV_fleet-desired', 'KV_fleet-info', 'KV_fleet-heartbeat']) expect(used[name]).toBeLessThan(2_000)
  // What others have in the bucket that is full, is replaced all the same.
  await jetstream(operator).publish('$KV.fleet-state.victim.shop.web', 'Running')
  await jetstream(operator).publish('$KV.fleet-desired.victim.shop.more', 'x'.repeat(100_000))
})
