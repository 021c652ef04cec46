/** What a thief can keep from other devices by asking the fleet operator without end. NATS as it is delivered: docs/spec/nats.md. */
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { serveDeviceConsumers } from '#controllers/fleet/nats/device-consumers.ts'
import { ensureBucket } from '#controllers/fleet/nats/provision.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { type NatsWorld, natsWorld, newDevice, PATIENCE } from './nats-world.ts'

vi.setConfig({ testTimeout: 180_000 })

const plane = await sharedControlPlane()
const [thief, victim] = [newDevice(), newDevice()]
const ending = new AbortController()
let world: NatsWorld

beforeAll(async () => {
  world = await natsWorld(plane)
  await world.declare({ thief: thief.publicKey, victim: victim.publicKey })
  await world.lets(victim)
  const connection = await world.as('nats-fleet')
  const manager = await jetstreamManager(connection)
  await ensureBucket({ connection, manager }, BUCKETS.desired, silent)
  void serveDeviceConsumers({ connection, manager }, systemClock, ending.signal)
}, 180_000)
afterAll(async () => {
  ending.abort()
  await world?.[Symbol.asyncDispose]()
})

const requestOf = (device: string) =>
  [
    `$JS.API.CONSUMER.CREATE.KV_fleet-desired.${device}.$KV.fleet-desired.${device}.>`,
    JSON.stringify({ config: { deliver_subject: `_INBOX.${device}.x` } }),
  ] as const

/** Several requests of the thief in a row are served while another waits: its consumer is made in so many rounds. */
const MOST_BEFORE_ANOTHER = 64

// NATS-13
test('attack: a device asks for its consumer without end; another gets its own after few of these, again and again', async () => {
  const stolen = await world.asDevice(thief, { inboxPrefix: '_INBOX.thief' })
  const honest = await world.asDevice(victim, { inboxPrefix: '_INBOX.victim' })
  let served = 0
  stolen.subscribe('_INBOX.thief.answers', {
    callback: (_error, { data }) => {
      if (data.length > 0) served += 1
    },
  })
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  const flood = async () => {
    const [subject, body] = requestOf('thief')
    while (!isOver) {
      for (let n = 0; n < 2_000; n += 1) stolen.publish(subject, body, { reply: '_INBOX.thief.answers' })
      await stolen.flush()
    }
  }
  const flooding = flood().catch(() => undefined)
  await vi.waitFor(() => expect(served).toBeGreaterThan(3), PATIENCE)

  for (let turn = 0; turn < 3; turn += 1) {
    const before = served
    const [subject, body] = requestOf('victim')
    // As an agent does, which asks again.
    const ask = async () => (await honest.request(subject, body, { timeout: 20_000 })).json()
    const answer = await vi.waitFor(ask, { timeout: 120_000, interval: 50 })
    expect(answer).toMatchObject({ name: 'victim' })
    expect(served - before).toBeLessThan(MOST_BEFORE_ANOTHER)
  }
  isOver = true
  await flooding
})
