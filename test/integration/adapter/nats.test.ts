import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import { listDeadLetters, replayDeadLetter } from '#controllers/adapter/events/dead-letters.ts'
import { jetStreamSource } from '#controllers/adapter/events/jetstream.ts'
import type { DeadLetter } from '#controllers/adapter/events/source.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startNats } from '#test/harness/index.ts'
import { rawHeaders, UNDECODABLE } from '#test/harness/raw-headers.ts'
import { muster } from '../cmd/run.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from './world.ts'

let nats: Awaited<ReturnType<typeof startNats>>
let world: AdapterWorld
let connection: NatsConnection

beforeAll(async () => {
  nats = await startNats()
  world = await adapterWorld({ natsUrl: nats.url })
  connection = await connect({ servers: nats.url })
})

afterAll(async () => {
  await connection?.close()
  await world?.[Symbol.asyncDispose]()
  await nats?.stop()
})

const publish = (subject: string, text: string) => jetstream(connection).publish(`hyperfleet.events.${subject}`, text)

test('ADAPTER-17: events come from JetStream; a message that is no event is kept apart at once, with the reason, and delays no other', async () => {
  await world.declare('streamed', {
    ...namespaceAndConfig(),
    events: { transport: 'nats', url: nats.url, maxConcurrent: 4 },
  })
  await world.manager(undefined, { natsServers: [nats.url] })
  await publish('clusters', 'this is no CloudEvent')
  await publish('clusters', JSON.stringify({ specversion: '1.0', id: 'x', type: 'y' }))
  const { id } = await world.create('streamed')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  await vi.waitFor(
    async () => expect((await world.task('streamed')).status).toMatchObject({ deadLetters: 2 }),
    PATIENCE,
  )
  await world.until('streamed', 'Working')
  const kept = await listDeadLetters(connection, consumerGroup(world.namespace, 'streamed'), 10)
  expect(kept.map(({ problem, text, deliveries }) => ({ problem, text, deliveries }))).toEqual([
    {
      problem: 'the message is no reconcile event: it is no JSON',
      text: 'this is no CloudEvent',
      deliveries: 1,
    },
    {
      problem: 'the message is no reconcile event: it has no data',
      text: '{"specversion":"1.0","id":"x","type":"y"}',
      deliveries: 1,
    },
  ])
})

test('ADAPTER-22: people list what was kept and replay it; what is still no event comes back, counted', async () => {
  const [first] = await listDeadLetters(connection, undefined, 1)
  const listed = await muster(['adapter', 'dead-letters', `--nats-url=${nats.url}`])
  expect(listed.output).toContain('the message is no reconcile event: it is no JSON\n    this is no CloudEvent')
  const replayed = await muster(['adapter', 'dead-letters', `--nats-url=${nats.url}`, `--replay=${first?.id}`])
  expect(replayed.output).toBe(`replayed ${first?.id}`)
  await vi.waitFor(async () => {
    const texts = (await listDeadLetters(connection, undefined, 10)).map(({ text, replays }) => `${text} ${replays}`)
    expect(texts).toContain('this is no CloudEvent 1')
    expect(texts).not.toContain('this is no CloudEvent 0')
  }, PATIENCE)
  const missing = await muster(['adapter', 'dead-letters', `--nats-url=${nats.url}`, '--replay=999'])
  expect(missing).toMatchObject({ code: 1, output: 'muster: there is no dead letter 999' })
})

test('the user in the URL is let in, to list what was kept and to take events; one that is refused is not told with its password', async () => {
  const config = join(await temporaryFolder('nats-users'), 'nats.conf')
  await writeFile(config, 'authorization { users: [{ user: "muster", password: "s3cret" }] }')
  await using guarded = await startNats(config)
  const urlFor = (password: string) => guarded.url.replace('//', `//muster:${password}@`)
  const run = (url: string) => muster(['adapter', 'dead-letters', `--nats-url=${url}`])
  expect(await run(urlFor('s3cret'))).toMatchObject({ code: 0, output: 'no dead letters' })
  const refused = await run(urlFor('wr0ng'))
  expect(refused).toMatchObject({ code: 3, output: expect.stringContaining('does not let us in') })
  expect(refused.output).not.toContain('wr0ng')
  expect(await run('nats://127.0.0.1:9')).toMatchObject({ code: 3, output: expect.stringContaining('does not answer') })

  const inside = await connect({ servers: guarded.url, user: 'muster', pass: 's3cret' })
  const { streams } = await jetstreamManager(inside)
  await streams.add({ name: 'hyperfleet-events', subjects: ['hyperfleet.events.>'] })
  const common = { name: 'test', consumer: 'one', resourceType: 'things', visibilityMs: 30_000, onDeadLetter: () => {} }
  const source = jetStreamSource({ ...common, url: urlFor('s3cret') })
  await source.open(new AbortController().signal)
  await source.close()
  const outside = jetStreamSource({ ...common, url: urlFor('wr0ng') })
  await expect(outside.open(new AbortController().signal)).rejects.toThrow(/^(?!.*wr0ng)/s)
  await inside.close()
})

describe('one consumer', () => {
  const letters: DeadLetter[] = []
  const source = (consumer = 'one', resourceType = 'things', former?: string) =>
    jetStreamSource({
      url: nats.url,
      name: 'test',
      consumer,
      legacyConsumer: former,
      resourceType,
      visibilityMs: 30_000,
      maxDeliveries: 3,
      onDeadLetter: (letter) => letters.push(letter),
    })
  const event = (id: string) => JSON.stringify({ specversion: '1.0', id: `e-${id}`, type: 'com.example', data: { id } })
  const signal = new AbortController().signal
  /** Takes what is there, until there is something. */
  const take = async (from: ReturnType<typeof source>) => {
    for (;;) {
      const [delivery] = await from.take(1, signal)
      if (delivery !== undefined) return delivery
    }
  }

  // NATS-11
  test('attack: messages whose headers can’t be decoded are kept apart at once, listed, and delay no other', async () => {
    const one = source('undecodable', 'odd')
    await one.open(signal)
    const texts = ['no event', event('odd'), '']
    for (const [n, head] of UNDECODABLE.entries())
      await jetstream(connection).publish('hyperfleet.events.odd', texts[n] ?? '', { headers: rawHeaders(head) })
    await publish('odd', event('good'))
    const ids: unknown[] = []
    while (!ids.includes('good')) {
      const delivery = await take(one)
      ids.push(delivery.event.data.id)
      await delivery.acknowledge()
    }
    expect(ids).toEqual(['odd', 'good'])
    const dead = UNDECODABLE.map((head) =>
      jetstream(connection).publish('hyperfleet.dead-letters.undecodable', '', { headers: rawHeaders(head) }),
    )
    await Promise.all(dead)
    const kept = await listDeadLetters(connection, 'undecodable', 10)
    expect(kept.map(({ problem }) => problem)).toEqual([
      ...['it is no JSON', 'it is no JSON'].map((what) => `the message is no reconcile event: ${what}`),
      ...UNDECODABLE.map(() => expect.stringContaining('can’t be read')),
    ])
    const listed = await muster(['adapter', 'dead-letters', `--nats-url=${nats.url}`, '--consumer=undecodable'])
    expect(listed.code).toBe(0)
    await expect(replayDeadLetter(connection, kept.at(-1)?.id ?? 0)).rejects.toThrow('can’t be read')
    letters.length = 0
    await one.remove(signal)
    await one.close()
  })

  test('ADAPTER-22: gives an event that fails for good up after its deliveries, keeps it, and takes it again when it is replayed', async () => {
    const one = source()
    await one.open(signal)
    await publish('things', event('unlucky'))
    for (let delivery = 1; delivery <= 3; delivery++) await (await take(one)).giveBack(1)
    await publish('things', event('lucky'))
    const next = await take(one)
    expect(next.event.data.id).toBe('lucky')
    await next.acknowledge()
    expect(letters.map(({ problem }) => problem)).toEqual(['the outcome of its run could not be reported, 3 times'])
    const [kept] = await listDeadLetters(connection, 'one', 10)
    expect(kept).toMatchObject({ text: event('unlucky'), deliveries: 3, subject: 'hyperfleet.events.things' })

    expect(await replayDeadLetter(connection, kept?.id ?? 0)).toBe(true)
    const again = await take(one)
    expect(again.event.data.id).toBe('unlucky')
    await again.acknowledge()
    expect(await listDeadLetters(connection, 'one', 10)).toEqual([])
    expect(await replayDeadLetter(connection, kept?.id ?? 0)).toBe(false)
    await one.close()
  })

  test('that ends again and again while it holds an event gives it back, and spoils nothing', async () => {
    const first = source()
    await first.open(signal)
    await publish('things', event('held'))
    // Managers that come and go are no failure of the event: more often than it may fail.
    for (let delivery = 1; delivery <= 12; delivery++) await (await take(first)).release()
    await (await take(first)).acknowledge()
    await first.close()
    expect(await listDeadLetters(connection, 'one', 10)).toEqual([])
  })

  test('takes many events, each of them once: what came with the first is not left to run out of time', async () => {
    const one = source()
    await one.open(signal)
    const { consumers } = await jetstreamManager(connection)
    const before = (await consumers.info('hyperfleet-events', 'one')).delivered.consumer_seq
    const ids = Array.from({ length: 10 }, (_, at) => `many-${at}`)
    for (const id of ids) await publish('things', event(id))
    const taken = new Set<string>()
    while (taken.size < ids.length)
      for (const delivery of await one.take(ids.length, signal)) {
        taken.add(delivery.event.data.id)
        await delivery.acknowledge()
      }
    expect(taken).toEqual(new Set(ids))
    const { delivered } = await consumers.info('hyperfleet-events', 'one')
    expect(delivered.consumer_seq - before).toBe(ids.length)
    await one.close()
  })

  test('that another client deletes is made again, and misses nothing', async () => {
    const one = source('deleted', 'others')
    await one.open(signal)
    const { consumers } = await jetstreamManager(connection)
    await consumers.delete('hyperfleet-events', 'deleted')
    await publish('others', event('after'))
    await expect(one.take(1, signal)).rejects.toThrow()
    await one.open(signal)
    const delivery = await take(one)
    expect(delivery.event.data.id).toBe('after')
    await delivery.acknowledge()
    await one.close()
  })

  test('that takes the place of a former one begins behind what that one acknowledged', async () => {
    const former = source('former', 'moves')
    await former.open(signal)
    for (const id of ['done', 'waiting']) await publish('moves', event(id))
    await (await take(former)).acknowledge()
    await vi.waitFor(async () => {
      const { consumers } = await jetstreamManager(connection)
      expect((await consumers.info('hyperfleet-events', 'former')).num_ack_pending).toBe(0)
    }, PATIENCE)
    await former.close()
    const one = source('later', 'moves', 'former')
    await one.open(signal)
    const delivery = await take(one)
    expect(delivery.event.data.id).toBe('waiting')
    await delivery.acknowledge()
    await one.close()
  })

  test('is removed with its task; removing it again does nothing', async () => {
    const one = source('leaving', 'leavings')
    await one.open(signal)
    await one.close()
    const { consumers } = await jetstreamManager(connection)
    expect((await consumers.info('hyperfleet-events', 'leaving')).name).toBe('leaving')
    await one.remove(signal)
    await one.remove(signal)
    await one.close()
    await expect(consumers.info('hyperfleet-events', 'leaving')).rejects.toThrow('consumer not found')
  })

  test('whose connection is closed for good lets go of what it held, and takes more over a new one', async () => {
    const one = source('closed', 'closings')
    await one.open(signal)
    await publish('closings', event('held'))
    const held = await take(one)
    await one.close()
    await held.extend()
    await held.acknowledge()
    await held.release()
    await publish('closings', event('after'))
    await one.open(signal)
    const delivery = await take(one)
    expect(delivery.event.data.id).toBe('after')
    await delivery.acknowledge()
    await one.close()
  })

  test('keeps a message that is as large as the server takes, and replays all of it', async () => {
    const one = source()
    await one.open(signal)
    const size = (connection.info?.max_payload ?? 0) - 64
    await publish('things', 'x'.repeat(size))
    await publish('things', event('after'))
    await (await take(one)).acknowledge()
    const [kept] = await listDeadLetters(connection, 'one', 10)
    expect(kept?.text.length).toBeLessThan(size)
    await replayDeadLetter(connection, kept?.id ?? 0)
    const { streams } = await jetstreamManager(connection)
    const last = await streams.getMessage('hyperfleet-events', { last_by_subj: 'hyperfleet.events.things' })
    expect(last?.data.length).toBe(size)
    await one.close()
  })
})
