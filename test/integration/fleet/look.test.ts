/** What is read of a bucket comes late: after the answer of a look, by a consumer that stands still, from a server that lags behind. */
import { jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS, type BucketSettings } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { BucketWatch } from '#controllers/fleet/nats/bucket-watch.ts'
import { checkIncarnation, ensureBucket, type Incarnation } from '#controllers/fleet/nats/provision.ts'
import type { KeyUpdate } from '#controllers/fleet/state/key-update.ts'
import { newestEntry } from '#lib/nats/bucket-entries.ts'
import type { Connected } from '#lib/nats/connection.ts'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock, startNats, tcpProxy } from '#test/harness/index.ts'
import { PATIENCE } from './world.ts'

/** So many entries of 1 KiB. */
const fill = async (kv: KV, count: number) => {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => kv.put(`k${from + n}`, 'x'.repeat(1_024))))
}
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
  const newest = (key: string) => newestEntry(manager, settings.name, key)
  return { url: nats.url, connection, manager, incarnation, kv, look, newest }
}

/** A watch of all keys, and what it tells: `key@revision`, `key gone`, `replayed`, the cause of a bucket made anew. */
const watchOf = (settings: BucketSettings, clock: Clock = systemClock) => {
  const told: string[] = []
  const listener = {
    recreated: (cause: string) => void told.push(cause),
    progress: () => undefined,
    seen: ({ key, bytes, revision }: KeyUpdate) =>
      void told.push(bytes === undefined ? `${key} gone` : `${key}@${revision}`),
    replayed: () => void told.push('replayed'),
  }
  const watch = new BucketWatch({ settings, keys: '>', listener }, clock)
  const follow = (connected: Connected, incarnation: Incarnation) => {
    const ending = new AbortController()
    const ended = watch.follow(connected, incarnation, ending.signal)
    const stop = async () => {
      ending.abort()
      await ended
    }
    return { ended, stop }
  }
  const until = (line: string) => vi.waitFor(() => expect(told).toContain(line), PATIENCE)
  return { watch, told, follow, until }
}

// FLEET-63
test('race: what is written between a look at a bucket and its answer is no sign that the bucket went back', async () => {
  const { kv, look, newest, incarnation, ...connected } = await bucketOn(BUCKETS.state)
  const { watch, told, follow, until } = watchOf(BUCKETS.state)
  const { stop } = follow(connected, incarnation)
  await until('replayed')
  await kv.put('a', 'x')
  await until('a@1')
  await watch.check(async () => {
    const looked = await look()
    await kv.put('b', 'x')
    await until('b@2')
    return looked
  }, newest)
  expect(told).toEqual(['replayed', 'a@1', 'b@2'])
  await stop()
})

// FLEET-63
test('a store that a look found to have gone back is read anew, though by then it is written past what was read', async () => {
  const { kv, look, newest, incarnation, ...connected } = await bucketOn(BUCKETS.state)
  const { watch, told, follow, until } = watchOf(BUCKETS.state)
  const first = follow(connected, incarnation)
  await kv.put('a', 'x')
  await kv.put('b', 'x')
  await until('b@2')
  const earlier = async () => {
    const found = await look()
    return { ...found, store: { ...found.store, lastRevision: 1 } }
  }
  await expect(watch.check(earlier, newest)).rejects.toMatchObject({ reason: 'BucketWentBack' })
  await first.stop()
  await kv.put('c', 'x')
  watch.readAnew()
  told.length = 0
  const second = follow(connected, incarnation)
  await until('replayed')
  expect(told[0]).toContain('went back')
  await second.stop()
})

// FLEET-63
test('a key that is read with a lower revision than it had tells that the store went back, though that is written past what was read', async () => {
  const { kv, incarnation, manager, ...connected } = await bucketOn(BUCKETS.state)
  const { watch, told, follow, until } = watchOf(BUCKETS.state)
  const first = follow({ manager, ...connected }, incarnation)
  for (const key of ['a', 'b', 'a']) await kv.put(key, 'x')
  await until('a@3')
  await first.stop()
  // What a restored store looks like that was written to since: the same one, with other revisions.
  await manager.streams.delete(`KV_${BUCKETS.state.name}`)
  await ensureBucket({ manager, ...connected }, BUCKETS.state, silent)
  for (const key of ['a', 'b', 'c', 'd']) await kv.put(key, 'x')
  watch.readAnew()
  const second = follow({ manager, ...connected }, incarnation)
  await expect(second.ended).rejects.toMatchObject({ reason: 'BucketWentBack' })
  told.length = 0
  watch.readAnew()
  const third = follow({ manager, ...connected }, incarnation)
  await until('replayed')
  expect(told[0]).toContain('went back')
  expect(told.slice(1).toSorted()).toEqual(['a@1', 'b@2', 'c@3', 'd@4', 'replayed'])
  await third.stop()
})

// FLEET-15
test('a consumer that stands still: of devices that are silent for too long as far as was read, those end that are so by the server', async () => {
  const { kv, look, newest, incarnation, ...connected } = await bucketOn(BUCKETS.heartbeat)
  const { manager } = connected
  const { watch, told, follow, until } = watchOf(BUCKETS.heartbeat)
  const { stop } = follow(connected, incarnation)
  await until('replayed')
  const stream = `KV_${BUCKETS.heartbeat.name}`
  await kv.put('silent', 'x')
  await kv.put('purged', 'x')
  await kv.put('alive', 'x')
  await until('alive@3')
  const [consumer] = await manager.consumers.list(stream).next()
  await manager.consumers.pause(stream, consumer?.name ?? '', new Date(Date.now() + 3_600_000))
  await manager.streams.purge(stream, { filter: `$KV.${BUCKETS.heartbeat.name}.purged` })
  const read = await newest('alive')
  const end = (read?.at.getTime() ?? 0) + BUCKETS.heartbeat.ttl
  // Written again, and so later that the clock shows it.
  const again = await vi.waitFor(async () => {
    const revision = await kv.put('alive', 'x')
    expect((await newest('alive'))?.at.getTime()).toBeGreaterThan(read?.at.getTime() ?? 0)
    return revision
  }, PATIENCE)
  for (let looks = 0; looks < 3; looks += 1) await watch.check(async () => ({ ...(await look()), time: end }), newest)
  expect(told.slice(4)).toEqual(['silent gone', 'purged gone'])
  await manager.consumers.resume(stream, consumer?.name ?? '')
  // Wakes it.
  await kv.put('later', 'x')
  await until(`alive@${again}`)
  expect(told.filter((line) => line === 'alive gone')).toEqual([])
  await stop()
})

// FLEET-15
test('an operator that stood still reads late what came meanwhile: a device that lives does not end by a heartbeat that is old by then', async () => {
  const { kv, look, newest, incarnation, ...connected } = await bucketOn(BUCKETS.heartbeat)
  const clock = manualClock()
  const { watch, told, follow, until } = watchOf(BUCKETS.heartbeat, clock)
  const { stop } = follow(connected, incarnation)
  await until('replayed')
  await kv.put('alive', 'x')
  await until('alive@1')
  await clock.advance('100s')
  await kv.put('alive', 'x')
  await kv.put('dead', 'x')
  await until('dead gone')
  await watch.check(look, newest)
  expect(told).toEqual(['replayed', 'alive@1', 'alive@2', 'dead gone'])
  await stop()
})

// FLEET-102
test('a server that lags behind: what was known of before stays until all was read that the leader has', async () => {
  const leader = await bucketOn(BUCKETS.desired)
  for (const key of ['a', 'b', 'c']) await leader.kv.put(key, 'x')
  const { watch, told, follow, until } = watchOf(BUCKETS.desired)
  const { stop } = follow(leader, leader.incarnation)
  await until('replayed')
  await stop()
  expect(told.splice(0)).toEqual(['a@1', 'b@2', 'c@3', 'replayed'])

  // As a replica that was away has it: the first entry, and the others come in the same order.
  const lagging = await bucketOn(BUCKETS.desired)
  await lagging.kv.put('a', 'x')
  watch.readAnew()
  const { stop: stopReading } = follow({ connection: lagging.connection, manager: leader.manager }, leader.incarnation)
  await until('a@1')
  for (const key of ['b', 'c']) await lagging.kv.put(key, 'x')
  await until('replayed')
  expect(told).toEqual(['a@1', 'b@2', 'c@3', 'replayed'])
  await stopReading()
})

// FLEET-78
test('a key that had been read is purged while a reading that was cut off waits, and another is written: it is gone at the end', async () => {
  const { url, kv, incarnation, ...connected } = await bucketOn(BUCKETS.desired)
  const { manager } = connected
  await fill(kv, 400)
  const { told, follow, until } = watchOf(BUCKETS.desired)
  await using proxy = await tcpProxy(url)
  proxy.endAfter(100_000)
  const connection = await connect({ servers: proxy.url, reconnect: false })
  await follow({ connection, manager }, incarnation).ended
  expect(told).toContain('k5@6')
  const read = told.length
  expect(read).toBeLessThan(400)

  await manager.streams.purge(`KV_${BUCKETS.desired.name}`, { filter: `$KV.${BUCKETS.desired.name}.k5` })
  await kv.put('other', 'x')
  const { stop } = follow(connected, incarnation)
  await until('replayed')
  expect(told.slice(-3)).toEqual(['other@401', 'k5 gone', 'replayed'])
  expect(told).toHaveLength(403)
  await stop()
})

// FLEET-102
test('race: of two entries that are overwritten while all is read again, one before it comes: none is told as gone', async () => {
  const { url, kv, incarnation, ...connected } = await bucketOn(BUCKETS.desired)
  // More than the server sends before it is told that a part of it came.
  const count = 6_000
  await fill(kv, count)
  const { watch, told, follow, until } = watchOf(BUCKETS.desired)
  const { stop } = follow(connected, incarnation)
  await until('replayed')
  await stop()
  told.length = 0

  await using proxy = await tcpProxy(url)
  proxy.holdAfter(1_000_000)
  const connection = await connect({ servers: proxy.url })
  onTestFinished(() => connection.close())
  watch.readAnew()
  const { stop: stopReading } = follow({ connection, manager: connected.manager }, incarnation)
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
