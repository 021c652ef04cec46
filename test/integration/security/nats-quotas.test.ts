/** What an account of NATS, as it is delivered, may take of the server: docs/spec/nats.md. */
import { type JetStreamManager, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { silent } from '#operator/model/log.ts'
import { QUOTAS } from '#services/agent/nats/quotas.ts'
import { openBroker } from '#services/hyperfleet-api/events/jetstream/broker.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { type NatsWorld, natsWorld, newDevice, streamsOf } from './nats-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const MIB = 2 ** 20
const ACCOUNTS = ['nats-api', 'nats-fleet'] as const
const pump = newDevice()
let world: NatsWorld
const managers = {} as Record<(typeof ACCOUNTS)[number], JetStreamManager>

beforeAll(async () => {
  world = await natsWorld(await sharedControlPlane())
  await world.declare({ pump: pump.publicKey })
  await world.lets(pump)
  for (const account of ACCOUNTS) managers[account] = await jetstreamManager(await world.as(account))
}, 180_000)
afterAll(() => world?.[Symbol.asyncDispose]())

/** Everything that Muster makes there. */
const provision = async (): Promise<void> => {
  const connection = await world.as('nats-fleet')
  const place = { connection, manager: managers['nats-fleet'] }
  for (const settings of Object.values(BUCKETS)) await ensureBucket(place, settings, silent)
  const files = { credentials: await world.seedOf('nats-api'), ca: await world.ca() }
  await (await openBroker({ url: world.nats.url, ...files, log: silent })).close()
}

/** Takes all that the account lets it have, in streams of this size. */
const takeAll = async (
  manager: JetStreamManager,
): Promise<{ readonly taken: readonly string[]; readonly end: string }> => {
  const taken: string[] = []
  for (const size of [512, 256, 128, 64, 32, 16, 8, 4, 2, 1])
    for (;;) {
      const name = `taken-${taken.length}`
      try {
        await manager.streams.add({ name, subjects: [`${name}.>`], max_bytes: size * MIB })
        taken.push(name)
      } catch (error) {
        if (size === 1) return { taken, end: String(error) }
        break
      }
    }
  throw new Error('there is no end')
}

// NATS-17
test.each([
  ['nats-api', 'nats-fleet'],
  ['nats-fleet', 'nats-api'],
] as const)(
  'attack: with the key of %s all of the store is taken: %s has its room all the same',
  async (thief, other) => {
    const { taken, end } = await takeAll(managers[thief])
    try {
      expect(end).toMatch(/insufficient storage|maximum number of streams/)
      expect(taken.length).toBeGreaterThan(0)
      if (other === 'nats-fleet') {
        const place = { connection: await world.as(other), manager: managers[other] }
        for (const settings of Object.values(BUCKETS)) await ensureBucket(place, settings, silent)
        const { streams } = managers[other]
        const room = (await Array.fromAsync(streams.list())).map(({ config }) => config.max_bytes)
        expect(room.toSorted((a, b) => a - b)).toEqual(
          Object.values(BUCKETS)
            .map(({ maxBytes }) => maxBytes)
            .toSorted((a, b) => a - b),
        )
      } else {
        const files = { credentials: await world.seedOf(other), ca: await world.ca() }
        await (await openBroker({ url: world.nats.url, ...files, log: silent })).close()
        expect((await managers[other].streams.info(EVENT_STREAM)).config.max_bytes).toBeGreaterThan(300 * MIB)
      }
    } finally {
      for (const name of taken) await managers[thief].streams.delete(name)
      for (const account of ACCOUNTS)
        for (const name of await streamsOf(await world.as(account))) await managers[account].streams.delete(name)
    }
  },
)

// NATS-17
test.each(ACCOUNTS)('attack: with the key of %s memory is taken, and streams are made without end', async (account) => {
  const manager = managers[account]
  const memory = { name: 'memory', subjects: ['memory.>'], storage: StorageType.Memory }
  await expect(manager.streams.add(memory)).rejects.toThrow('insufficient memory')
  const made: string[] = []
  const add = async () => {
    const name = `small-${made.length}`
    await manager.streams.add({ name, subjects: [`${name}.>`] })
    made.push(name)
  }
  try {
    await expect(
      (async () => {
        for (let round = 0; round < 100; round++) await add()
      })(),
    ).rejects.toThrow('maximum number of streams')
    const { streams } = account === 'nats-api' ? QUOTAS.API : QUOTAS.FLEET
    expect(made).toHaveLength(streams)
  } finally {
    for (const name of made) await manager.streams.delete(name)
  }
})

// NATS-17
test('what Muster makes has room, twice over in streams, and does its work', async () => {
  await provision()
  for (const account of ACCOUNTS) {
    const { reserved_storage, streams, limits } = await managers[account].getAccountInfo()
    expect(reserved_storage).toBeLessThan(limits.max_storage)
    expect(2 * streams).toBeLessThan(limits.max_streams)
  }
  const kv = await new Kvm(await world.as('nats-fleet')).open(BUCKETS.desired.name)
  await kv.put('pump.web', 'run')
  const seen: string[] = []
  for await (const entry of await kv.watch()) {
    seen.push(entry.key)
    break
  }
  expect(seen).toEqual(['pump.web'])
  const { stream } = await jetstream(await world.as('nats-api')).publish('hyperfleet.events.clusters', '{}')
  expect(stream).toBe(EVENT_STREAM)
})

// NATS-17
test('attack: with the key of the fleet connections are opened without end: the API and the devices are let in', async () => {
  const opened: NatsConnection[] = []
  await expect(
    (async () => {
      for (let round = 0; round < 1_000; round++) opened.push(await world.as('nats-fleet'))
    })(),
  ).rejects.toThrow(/maximum .*connections/i)
  expect(opened.length).toBeLessThanOrEqual(QUOTAS.FLEET.connections)
  expect(opened.length).toBeGreaterThan(QUOTAS.FLEET.connections / 2)
  await (await world.as('nats-api')).close()
  await (await world.asDevice(pump, { inboxPrefix: '_INBOX.pump' })).close()
  await Promise.all(opened.map((connection) => connection.close()))
})
