/**
 * What a thief can have the fleet operator read, with the key of one device: messages of any bytes. NATS as it is delivered:
 * docs/spec/nats.md.
 */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { repetitions } from '#test/harness/deep.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { rawHeaders, UNDECODABLE } from '#test/harness/raw-headers.ts'
import { type FleetReader, startFleetReader } from './fleet-reader.ts'
import { type NatsWorld, natsWorld, newDevice, PATIENCE } from './nats-world.ts'

vi.setConfig({ testTimeout: 120_000 })

const plane = await sharedControlPlane()
const [thief, victim] = [newDevice(), newDevice()]
let world: NatsWorld
let operator: NatsConnection
let stolen: NatsConnection
let honest: NatsConnection

beforeAll(async () => {
  world = await natsWorld(plane)
  await world.declare({ thief: thief.publicKey, victim: victim.publicKey })
  await world.lets(victim)
  operator = await world.as('nats-fleet')
  // As the last release made it.
  await new Kvm(operator).create(BUCKETS.heartbeat.name, { ttl: 90_000, markerTTL: 90_000, maxValueSize: 1_024 })
  stolen = await world.asDevice(thief, { inboxPrefix: '_INBOX.thief' })
  honest = await world.asDevice(victim, { inboxPrefix: '_INBOX.victim' })
}, 180_000)
afterAll(() => world?.[Symbol.asyncDispose]())

const startReader = async (): Promise<FleetReader> => {
  const files = { credentials: await world.seedOf('nats-fleet'), ca: await world.ca() }
  const reader = startFleetReader({ url: world.nats.url, ...files })
  onTestFinished(() => reader.stop())
  await vi.waitFor(() => expect(reader.isRead()).toBe(true), PATIENCE)
  return reader
}

const publishRaw = (subject: string, headers: string | Uint8Array, data: string | Uint8Array = ''): void =>
  stolen.publish(subject, data, { headers: rawHeaders(headers) })

const BUCKETS_OF_THIEF = ['$KV.fleet-state.thief.shop.web', '$KV.fleet-info.thief', '$KV.fleet-heartbeat.thief']

let said = 0
/** The honest device says something new in every bucket. @returns what waits until the reader knows all of it */
const speak = async () => {
  said += 1
  const at = new Date().toISOString()
  const revision = said
  const state = { phase: 'Running', uid: 'u', revision, at } as const
  const values = {
    '$KV.fleet-state.victim.shop.web': stateCodec.encode(state, 1),
    '$KV.fleet-info.victim': infoCodec.encode({ labels: {}, inventory: {}, agentVersion: `${revision}` }, 0),
    '$KV.fleet-heartbeat.victim': heartbeatCodec.encode({ boot: 'b', at }, 0),
  }
  const before = new Date()
  for (const [subject, value] of Object.entries(values))
    expect((await honest.request(subject, value, { timeout: 20_000 })).json()).toHaveProperty('seq')
  return (reader: FleetReader) =>
    vi.waitFor(() => {
      expect([...reader.state.revisionsInUse('shop/web')]).toContain(revision)
      expect(reader.devices.info('victim')?.agentVersion).toBe(String(revision))
      expect(reader.state.isAlive('victim')).toBe(true)
      // The times of server and test are of one clock.
      expect(reader.devices.lastSeen('victim')?.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1_000)
    }, PATIENCE)
}

// NATS-11, FLEET-101
test('attack: a device writes headers that can’t be decoded; the operator goes on with all others, names the key, and reads past it when it begins anew', async () => {
  const reader = await startReader()
  await (await speak())(reader)
  const counted = (bucket: string, times: number) =>
    vi.waitFor(
      async () =>
        expect(await reader.metric('muster_fleet_malformed_entries_total')).toContain(
          `{bucket="${bucket}",reason="Headers"} ${times}`,
        ),
      PATIENCE,
    )
  for (const [n, headers] of UNDECODABLE.entries()) {
    for (const subject of BUCKETS_OF_THIEF) publishRaw(subject, headers)
    for (const bucket of ['states', 'infos', 'heartbeats']) await counted(bucket, n + 1)
    await (await speak())(reader)
  }
  // Those that can be decoded, in seconds: the more they are, the slower each.
  publishRaw('$KV.fleet-info.thief', bytes(`NATS/1.0\r\n${'n:\r\n'.repeat(10_000)}\r\n`))
  await counted('infos', UNDECODABLE.length + 1)
  const lines = reader.lines.filter((line) => line.includes('an entry is malformed'))
  expect(lines.join('\n')).toContain('"key":"thief.shop.web"')
  expect(lines.join('\n')).toContain('"key":"thief"')
  expect(reader.sessions()).toBe(1)

  const next = await startReader()
  await (await speak())(next)
  expect(next.sessions()).toBe(1)
})

/** Until the server has done all that the thief asked for before. */
const settled = async () => {
  for (const subject of BUCKETS_OF_THIEF) await stolen.request(subject, '{}', { timeout: 20_000 })
}

// NATS-12
test('attack: a device rolls up a bucket, one that an earlier release made included; nothing that others said is erased', async () => {
  const reader = await startReader()
  const heard = await speak()
  await heard(reader)
  const { streams } = await jetstreamManager(operator)
  const ofVictim = async () => {
    const counts = ['state', 'info', 'heartbeat'].map(async (bucket) => {
      const { state } = await streams.info(`KV_fleet-${bucket}`, { subjects_filter: `$KV.fleet-${bucket}.victim.>` })
      const { state: own } = await streams.info(`KV_fleet-${bucket}`, { subjects_filter: `$KV.fleet-${bucket}.victim` })
      return { ...state.subjects, ...own.subjects }
    })
    return Object.assign({}, ...(await Promise.all(counts)))
  }
  const before = await ofVictim()
  expect(Object.keys(before)).toHaveLength(3)
  for (const value of ['all', 'sub', 'ALL', ' all'])
    for (const subject of BUCKETS_OF_THIEF) {
      for (const more of ['', 'Nats-TTL: never\r\n', 'KV-Operation: PURGE\r\n'])
        publishRaw(subject, `NATS/1.0\r\nNats-Rollup:${value}\r\n${more}\r\n`)
      await settled()
      expect(await ofVictim(), `${subject} ${value}`).toEqual(before)
    }
  await heard(reader)
  expect(reader.sessions()).toBe(1)
})

const SPECIAL_NAMES = [
  'KV-Operation',
  'Nats-Marker-Reason',
  'Nats-Msg-Id',
  'Nats-TTL',
  'Nats-Rollup',
  'Nats-Expected-Stream',
  'Nats-Expected-Last-Sequence',
  'Nats-Expected-Last-Subject-Sequence',
  'Nats-Stream',
  'Nats-Subject',
  'Nats-Sequence',
  'Nats-Time-Stamp',
  'Nats-Num-Pending',
  'Nats-Msg-Size',
  'Nats-Incr',
  'Nats-Schedule',
  'Nats-Schedule-Target',
  'Nats-Batch-Id',
  'Nats-Batch-Commit',
  'Nats-Consumer-Stalled',
  'Nats-Request-Info',
  'Status',
]
const SPECIAL_VALUES = [
  '',
  'PUT',
  'DEL',
  'PURGE',
  'MaxAge',
  'Remove',
  'all',
  'sub',
  'never',
  '1',
  '-1',
  '1e999',
  '$KV.fleet-state.victim.shop.web',
]

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const anyBytes = fc.uint8Array({ maxLength: 300 })
const anyLine = fc
  .tuple(fc.constantFrom(...SPECIAL_NAMES), fc.oneof(fc.constantFrom(...SPECIAL_VALUES), fc.string({ unit: 'binary' })))
  .map(([name, value]) => `${name}: ${value}\r\n`)
const anyHeaders = fc.oneof(
  anyBytes,
  anyBytes.map((more) => Buffer.concat([bytes('NATS/1.0\r\n'), more, bytes('\r\n\r\n')])),
  fc
    .tuple(
      fc.constantFrom('NATS/1.0', 'NATS/1.0 100 Idle Heartbeat', 'NATS/1.0 409 Consumer Deleted', 'NATS/1.0 503'),
      fc.array(anyLine, { maxLength: 4 }),
    )
    .map(([status, lines]) => bytes(`${status}\r\n${lines.join('')}\r\n`)),
  fc
    .constantFrom(200, 2_000, 10_000)
    .map((count) =>
      bytes(`NATS/1.0\r\n${Array.from({ length: count }, (_, n) => `${n.toString(36)}:\r\n`).join('')}\r\n`),
    ),
)
const anyPayload = fc.oneof(
  anyBytes,
  fc.constant(new Uint8Array()),
  fc.constant(stateCodec.encode({ phase: 'Running', uid: 'u', revision: 1, at: '2026-01-01T00:00:00Z' }, 1)),
  fc.constant(infoCodec.encode({ labels: {}, inventory: {}, agentVersion: '1' }, 0)),
)
const anyToken = fc.oneof(
  fc.constantFrom(
    'shop',
    'web',
    '*',
    '>',
    '',
    '__proto__',
    'constructor',
    'x'.repeat(1_000),
    '\u0000',
    '\u00fc',
    '\u{1f600}',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).map((text) => text.replaceAll(/\s/g, '_')),
)
/** All that a device's permissions let it publish to. */
const anySubject = fc.oneof(
  fc.array(anyToken, { minLength: 1, maxLength: 5 }).map((tokens) => `$KV.fleet-state.thief.${tokens.join('.')}`),
  fc.constantFrom(...BUCKETS_OF_THIEF),
  fc
    .constantFrom(
      'CREATE.KV_fleet-desired.x.$KV.fleet-desired.thief.>',
      'CREATE.KV_fleet-desired.thief.$KV.fleet-desired.thief.>',
      'DELETE.KV_fleet-desired.victim',
    )
    .map((request) => `$JS.API.CONSUMER.${request}`),
  fc.constant('$JS.FC.KV_fleet-desired.thief.x'),
)

// NATS-11, NATS-12
test('attack: a device publishes any bytes as headers and payload wherever it may; what the operator knows of another is complete, by one session', async () => {
  const reader = await startReader()
  const before = await speak()
  await before(reader)
  const messages = fc.sample(
    fc.tuple(anySubject, anyHeaders, anyPayload, fc.boolean()),
    repetitions({ deep: 20_000, slice: 600 }),
  )
  for (const [n, [subject, head, payload, isAsked]] of messages.entries()) {
    stolen.publish(subject, payload, { headers: rawHeaders(head), ...(isAsked && { reply: '_INBOX.thief.answers' }) })
    if (n % 100 !== 0) continue
    await settled()
    const heard = await speak()
    await heard(reader)
  }
  const heard = await speak()
  await heard(reader)
  expect(reader.sessions()).toBe(1)
  expect(reader.lines.filter((line) => line.includes('NATS can’t be used'))).toEqual([])
  const next = await startReader()
  await heard(next)
  expect(next.sessions()).toBe(1)
})
