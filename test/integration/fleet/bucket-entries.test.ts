/** Entries of a bucket are read to their end, also where there are none, or the reading throws. On a real NATS. */
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { type ConnectionOptions, connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readEntries } from '#lib/nats/bucket-entries.ts'
import { startNats, tcpProxy } from '#test/harness/index.ts'
import { lossyNats } from '#test/harness/lossy-nats.ts'
import { PATIENCE } from './world.ts'

/** The server says every half a minute how many it has sent. */
vi.setConfig({ testTimeout: 120_000 })

const bucket = async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const kv = await new Kvm(connection).create('things')
  const keys = async (pattern = '>') =>
    (await readEntries(connection, 'things', pattern)).map(({ key, kind }) => `${key} ${kind}`)
  const { streams } = await jetstreamManager(connection)
  const purge = (filter = '>') => streams.purge('KV_things', { filter: `$KV.things.${filter}` })
  /** A proxy before the server, and a client by it. */
  const behindProxy = async (options: ConnectionOptions = { reconnect: false }) => {
    const proxy = await tcpProxy(nats.url)
    onTestFinished(() => proxy.stop())
    const open = async () => {
      const client = await connect({ servers: proxy.url, ...options })
      onTestFinished(() => client.close())
      return client
    }
    return { proxy, open }
  }
  /** So many entries of 1 KiB. */
  const fill = async (count: number) => {
    for (let from = 0; from < count; from += 100)
      await Promise.all(Array.from({ length: 100 }, (_, n) => kv.put(`k${from + n}`, 'x'.repeat(1_024))))
  }
  return { url: nats.url, kv, keys, purge, behindProxy, fill }
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

// FLEET-102
test.each<[string, ConnectionOptions]>([
  ['a client that does not connect again', { reconnect: false }],
  ['a client that connects again', { reconnectTimeWait: 10 }],
])(
  '%s: where the connection is cut while entries are read, that is told with how many had come',
  async (_, options) => {
    const { behindProxy, fill } = await bucket()
    await fill(400)
    const { proxy, open } = await behindProxy(options)
    proxy.endAfter(100_000)
    const client = await open()
    proxy.endAfter(Number.POSITIVE_INFINITY)
    const problem = await readEntries(client, 'things', '>').catch((error: unknown) => error)
    expect(problem).toMatchObject({
      reason: 'Unreachable',
      message: expect.stringMatching(
        /^the bucket things was cut off after \d+ entries, with \d+ to come: the connection /,
      ),
    })
    const [read = 0, more = 0] = (String(problem).match(/\d+/g) ?? []).map(Number)
    expect(read).toBeGreaterThan(0)
    expect(read + more).toBe(400)
  },
)

// FLEET-102
test.each([
  ['and overwritten', [0, 4_998, 4_999]],
  ['and nothing comes after', []],
])(
  'entries are purged while they are read, %s: the reading ends, and has all that was there and stayed',
  async (_, keys) => {
    const { kv, purge, behindProxy, fill } = await bucket()
    // More than the server sends before it is told that a part of it came.
    await fill(6_000)
    const { proxy, open } = await behindProxy()
    proxy.holdAfter(1_000_000)
    const client = await open()
    const reading = readEntries(client, 'things', '>')
    await vi.waitFor(() => expect(proxy.carried()).toBeGreaterThan(1_000_000), PATIENCE)
    for (let n = 5_000; n < 6_000; n += 1) await purge(`k${n}`)
    const rewritten = await Promise.all(keys.map((n) => kv.put(`k${n}`, 'y')))
    proxy.release()
    const entries = await reading
    expect(new Set(entries.map(({ key }) => key)).size).toBe(5_000)
    expect(entries.slice(entries.length - keys.length).map(({ revision }) => revision)).toEqual(rewritten)
  },
)

// FLEET-102
test('the last entries are lost on the way between servers, and the connection stays: that is told too', async () => {
  const { url, kv } = await bucket()
  for (const key of ['one', 'two', 'three']) await kv.put(key, 'x')
  await using proxy = await lossyNats(url, (subject) => subject === '$KV.things.three')
  const client = await connect({ servers: proxy.url })
  const problem = await readEntries(client, 'things', '>').catch((error: unknown) => error)
  await client.close()
  expect(problem).toMatchObject({
    message:
      'the bucket things was cut off after 2 entries, with 1 to come: the connection to NATS broke, or entries were lost on their way',
  })
})
