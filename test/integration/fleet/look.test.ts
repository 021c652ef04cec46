/** What is read of a bucket comes late: after the answer of a look, from a server that lags behind. */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS, type BucketSettings } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { BucketWatch } from '#controllers/fleet/nats/bucket-watch.ts'
import { checkIncarnation, ensureBucket, type Incarnation } from '#controllers/fleet/nats/provision.ts'
import type { KeyUpdate } from '#controllers/fleet/state/key-update.ts'
import type { Connected } from '#lib/nats/connection.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { startNats, tcpProxy } from '#test/harness/index.ts'
import { PATIENCE } from './world.ts'

/** Written at once. */
const AT_ONCE = 100

/** A server of its own with a bucket. */
const bucketOn = async (settings: BucketSettings) => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const manager = await jetstreamManager(connection)
  const incarnation = await ensureBucket({ connection, manager }, settings, silent)
  const kv = await new Kvm(connection).open(settings.name)
  const look = () => checkIncarnation(manager, settings.name, incarnation)
  return { url: nats.url, connection, manager, incarnation, kv, look }
}

/** A watch of all keys, and what it tells: `key@revision`, `key gone`, `replayed`, the cause of a bucket made anew. */
const watchOf = (settings: BucketSettings) => {
  const told: string[] = []
  const listener = {
    recreated: (cause: string) => void told.push(cause),
    progress: () => undefined,
    seen: ({ key, bytes, revision }: KeyUpdate) =>
      void told.push(bytes === undefined ? `${key} gone` : `${key}@${revision}`),
    replayed: () => void told.push('replayed'),
  }
  const watch = new BucketWatch({ settings, keys: '>', listener }, systemClock)
  const follow = (connected: Connected, incarnation: Incarnation) => {
    const ending = new AbortController()
    watch.readAnew()
    const ended = watch.follow(connected, incarnation, ending.signal)
    const stop = async () => {
      ending.abort()
      await ended
    }
    return stop
  }
  const until = (line: string) => vi.waitFor(() => expect(told).toContain(line), PATIENCE)
  return { watch, told, follow, until }
}

// FLEET-63
test('race: what is written between a look at a bucket and its answer is no sign that the bucket went back', async () => {
  const { kv, look, incarnation, ...connected } = await bucketOn(BUCKETS.state)
  const { watch, told, follow, until } = watchOf(BUCKETS.state)
  const stop = follow(connected, incarnation)
  await until('replayed')
  await kv.put('a', 'x')
  await until('a@1')
  await watch.check(async () => {
    const looked = await look()
    await kv.put('b', 'x')
    await until('b@2')
    return looked
  })
  expect(told).toEqual(['replayed', 'a@1', 'b@2'])
  await stop()
})

// FLEET-102
test('a server that lags behind: what was known of before stays until all was read that the leader has', async () => {
  const leader = await bucketOn(BUCKETS.desired)
  for (const key of ['a', 'b', 'c']) await leader.kv.put(key, 'x')
  const { told, follow, until } = watchOf(BUCKETS.desired)
  const stop = follow(leader, leader.incarnation)
  await until('replayed')
  await stop()
  expect(told.splice(0)).toEqual(['a@1', 'b@2', 'c@3', 'replayed'])

  // As a replica that was away has it: the first entry, and the others come in the same order.
  const lagging = await bucketOn(BUCKETS.desired)
  await lagging.kv.put('a', 'x')
  const stopReading = follow({ connection: lagging.connection, manager: leader.manager }, leader.incarnation)
  await until('a@1')
  for (const key of ['b', 'c']) await lagging.kv.put(key, 'x')
  await until('replayed')
  expect(told).toEqual(['a@1', 'b@2', 'c@3', 'replayed'])
  await stopReading()
})

// FLEET-102
test('race: of two entries that are overwritten while all is read again, one before it comes: none is told as gone', async () => {
  const { url, kv, incarnation, ...connected } = await bucketOn(BUCKETS.desired)
  // More than the server sends before it is told that a part of it came.
  const count = 6_000
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => kv.put(`k${from + n}`, 'x'.repeat(1_024))))
  const { told, follow, until } = watchOf(BUCKETS.desired)
  const stop = follow(connected, incarnation)
  await until('replayed')
  await stop()
  told.length = 0

  await using proxy = await tcpProxy(url)
  proxy.holdAfter(1_000_000)
  const connection = await connect({ servers: proxy.url })
  onTestFinished(() => connection.close())
  const stopReading = follow({ connection, manager: connected.manager }, incarnation)
  await vi.waitFor(() => expect(proxy.carried()).toBeGreaterThan(1_000_000), PATIENCE)
  await kv.put('k0', 'y')
  const last = await kv.put(`k${count - 1}`, 'y')
  proxy.release()
  await until(`k${count - 1}@${last}`)
  await until('replayed')
  expect(told.filter((line) => line.endsWith('gone'))).toEqual([])
  expect(told).toHaveLength(count + 2)
  await stopReading()
})
