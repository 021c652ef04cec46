/** Heartbeats that end, on a real server: without markers, which would let one device erase those of all. */
import { Kvm } from '@nats-io/kv'
import { connect, headers } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { followBuckets } from '#controllers/fleet/nats/session.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { startNats } from '#test/harness/index.ts'
import { PATIENCE } from './world.ts'

// FLEET-15, NATS-12
test('attack: a device has its heartbeat kept for ever; it ends like that of a device that is silent, and those that go on stay', async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const settings = { ...BUCKETS.heartbeat, ttl: 3_000 }
  // As the last release made it: it takes times of messages, and a server never lets go of that.
  const kv = await new Kvm(connection).create(settings.name, { ttl: 90_000, markerTTL: 90_000, maxValueSize: 1_024 })
  const told: string[] = []
  const ending = new AbortController()
  const ended = followBuckets({
    access: { url: nats.url, name: 'test' },
    buckets: {
      beats: {
        settings,
        keys: '>',
        listener: {
          recreated: () => void told.push('recreated'),
          progress: () => undefined,
          seen: ({ key, bytes }) => void told.push(`${key} ${bytes === undefined ? 'gone' : 'here'}`),
          replayed: () => void told.push('replayed'),
        },
      },
    },
    opened: () => undefined,
    onLook: () => undefined,
    lost: ({ message }) => void told.push(message),
    clock: systemClock,
    log: silent,
    signal: ending.signal,
  })
  await vi.waitFor(() => expect(told).toEqual(['replayed']), PATIENCE)
  const never = headers()
  never.set('Nats-TTL', 'never')
  await connection.request('$KV.fleet-heartbeat.forever', 'x', { headers: never, timeout: 20_000 })
  await kv.put('silent', 'x')
  const beat = setInterval(() => void kv.put('steady', 'x').catch(() => undefined), 300)
  onTestFinished(() => clearInterval(beat))
  await vi.waitFor(() => expect(told).toEqual(expect.arrayContaining(['forever gone', 'silent gone'])), PATIENCE)
  expect(told.filter((line) => line.endsWith('gone')).toSorted()).toEqual(['forever gone', 'silent gone'])
  expect(await kv.get('forever')).not.toBeNull()
  ending.abort()
  await ended
})
