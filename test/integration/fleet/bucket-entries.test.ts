/** Entries of a bucket are read to their end, also where there are none. On a real NATS. */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { startNats } from '#test/harness/index.ts'

const bucket = async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const kv = await new Kvm(connection).create('things')
  const keys = async (pattern = '>') =>
    (await readEntries(connection, 'things', pattern)).map(({ key, kind }) => `${key} ${kind}`)
  const purge = async () => (await jetstreamManager(connection)).streams.purge('KV_things')
  return { kv, keys, purge }
}

// NATS-11
test('of a bucket that is empty, has nothing below a pattern, or was emptied, there are none, and the reading ends', async () => {
  const { kv, keys, purge } = await bucket()
  expect(await keys()).toEqual([])
  await kv.put('a.one', '1')
  await kv.put('b.two', '2')
  await kv.delete('b.two')
  expect(await keys()).toEqual(['a.one Value', 'b.two Deleted'])
  expect(await keys('c.*')).toEqual([])
  await purge()
  expect(await keys()).toEqual([])
})
