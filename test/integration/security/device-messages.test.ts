/**
 * What a thief can have the fleet operator read, with the key of one device: messages of any bytes. NATS as it is delivered:
 * docs/spec/nats.md.
 */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
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

const malformed = (reader: FleetReader) => reader.metric('muster_fleet_malformed_entries_total')

// NATS-11, FLEET-101
test('attack: a device writes headers that can’t be decoded; the operator goes on with all others, names the key, and reads past it when it begins anew', async () => {
  const reader = await startReader()
  await (await speak())(reader)
  for (const headers of UNDECODABLE) {
    for (const subject of BUCKETS_OF_THIEF) publishRaw(subject, headers)
    await stolen.flush()
    await (await speak())(reader)
  }
  const counted = await malformed(reader)
  for (const bucket of ['states', 'infos', 'heartbeats'])
    expect(counted).toContain(`{bucket="${bucket}",reason="Headers"} 3`)
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
