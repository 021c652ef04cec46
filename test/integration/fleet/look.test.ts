/** A look at a bucket, and what is written while its answer is on the way. */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { BucketWatch } from '#controllers/fleet/nats/bucket-watch.ts'
import { checkIncarnation, ensureBucket, newestRevision } from '#controllers/fleet/nats/provision.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { startNats } from '#test/harness/index.ts'
import { PATIENCE } from './world.ts'

// FLEET-63
test('race: what is written between a look at a bucket and its answer is no sign that the bucket went back', async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const manager = await jetstreamManager(connection)
  const connected = { connection, manager }
  const settings = BUCKETS.state
  const { name } = settings
  const incarnation = await ensureBucket(connected, settings, silent)
  const kv = await new Kvm(connection).open(name)
  const seen: number[] = []
  const told: string[] = []
  const listener = {
    recreated: (cause: string) => void told.push(cause),
    progress: () => undefined,
    seen: ({ revision }: { revision: number }) => void seen.push(revision),
    replayed: () => undefined,
  }
  const watch = new BucketWatch({ settings, keys: '>', listener }, systemClock)
  const ending = new AbortController()
  const ended = watch.follow(connected, incarnation, () => newestRevision(manager, name, '>'), ending.signal)
  await vi.waitFor(() => expect(watch.isReplayed).toBe(true), PATIENCE)
  await kv.put('a', 'x')
  await vi.waitFor(() => expect(seen).toEqual([1]), PATIENCE)
  await watch.check(async () => {
    const look = await checkIncarnation(manager, name, incarnation)
    await kv.put('b', 'x')
    await vi.waitFor(() => expect(seen).toEqual([1, 2]), PATIENCE)
    return look
  })
  expect(told).toEqual([])
  ending.abort()
  await ended
})
