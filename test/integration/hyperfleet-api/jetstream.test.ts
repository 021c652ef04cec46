import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Consumer, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { storeConsumer } from '#services/hyperfleet-api/events/consumers.ts'
import type { Broker } from '#services/hyperfleet-api/events/jetstream/broker.ts'
import { readPlaces, resetRelay } from '#services/hyperfleet-api/events/jetstream/places.ts'
import { syncProgress } from '#services/hyperfleet-api/events/jetstream/sync-progress.ts'
import { builtinEntities, defineEntities } from '#services/hyperfleet-api/model/entity.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import type { ApiOptions } from '#services/hyperfleet-api/options.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { startNats } from '#test/harness/index.ts'
import { rawHeaders, UNDECODABLE } from '#test/harness/raw-headers.ts'
import { type Json, onBothDatabases, serve, type TestApi, temporaryData } from './support.ts'

/** What only JetStream can get wrong; what every queue must do is in test/conformance/event-queue.test.ts. */

const STREAM = 'hyperfleet-events'
const LOCAL = { host: '127.0.0.1', port: 0 }

const post = (api: TestApi, resourceId: string, reason: string) =>
  api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason })

const claim = (api: TestApi, body: object = {}) =>
  api.call('POST', '/events/consumers/dns/claims', { wait: '60s', visibility: '1h', ...body })

const reasonsOf = ({ body }: { body: Json }): string[] =>
  body.items.map(({ event }: { event: Json }) => event.data.reason)

const natsServer = async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  return nats
}

const withNats = async (natsUrl: string, options: Partial<ApiOptions> = {}, clock: Clock = systemClock) =>
  serve({ ...options, natsUrl, health: LOCAL, metrics: LOCAL }, clock)

const readiness = async (api: TestApi) => {
  const answer = await fetch(`${api.healthUrl}/readyz`)
  return { status: answer.status, body: (await answer.json()) as Json }
}

/** A metric's samples by their labels without those of every metric. */
const metric = async (api: TestApi, name: string): Promise<string[]> => {
  const text = await (await fetch(`${api.metricsUrl}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith(`hyperfleet_api_${name}{`))
    .map((line) => line.slice(name.length + 15).replace(/,?component="api",version="0.0.0"/, ''))
}

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await delay(20)
}

/** A client of NATS that knows nothing of the API. */
const natsClient = async (url: string) => {
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  const stream = jetstream(connection)
  return {
    manager: await jetstreamManager(connection),
    consumers: stream.consumers,
    publish: (body: string, sequence?: string) => {
      const head = headers()
      if (sequence !== undefined) head.set('Muster-Sequence', sequence)
      return stream.publish('hyperfleet.events.clusters', body, { headers: head })
    },
  }
}

const take = async (consumer: Consumer) => {
  const message = await consumer.next({ expires: 30_000 })
  if (message === null) throw new Error('no message came')
  return message
}

/** Every message that the stream has, once there are so many. */
const eventsIn = async (url: string, count: number) => {
  const { manager, consumers } = await natsClient(url)
  await until(async () => (await manager.streams.info(STREAM)).state.messages >= count)
  const consumer = await consumers.get(STREAM)
  const events: { subject: string; headers: Record<string, string | undefined>; body: Json }[] = []
  for await (const message of await consumer.fetch({ max_messages: count, expires: 30_000 }))
    events.push({
      subject: message.subject,
      headers: Object.fromEntries((message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key)])),
      body: message.json(),
    })
  return events
}

onBothDatabases((fresh) => {
  test('an event goes to JetStream under its kind’s subject as a structured CloudEvent, its id being the message’s', async () => {
    const nats = await natsServer()
    const api = await withNats(nats.url, await fresh())
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    await api.call('PUT', '/events/consumers/us', { resourceType: 'clusters', labels: 'region=us' })
    const { id } = await api.cluster('one')
    const { body } = await post(api, id, 'New')
    expect(await eventsIn(nats.url, 1)).toEqual([
      {
        subject: 'hyperfleet.events.clusters',
        headers: {
          'Nats-Msg-Id': `${id}.1`,
          'Content-Type': 'application/cloudevents+json',
          'Muster-Consumers': 'dns',
          'Muster-Sequence': '1',
        },
        body,
      },
    ])
  })

  // API-37
  test('what was posted while NATS was away gets there when it is back, each once and in order', async () => {
    const nats = await natsServer()
    const api = await withNats(nats.url, await fresh())
    const { id } = await api.cluster('one')
    await post(api, id, 'Before')
    await eventsIn(nats.url, 1)
    await nats.kill()
    for (const reason of ['A', 'B', 'C']) expect((await post(api, id, reason)).status).toBe(201)
    await nats.restart()
    const events = await eventsIn(nats.url, 4)
    expect(events.map(({ body }) => body.data.reason)).toEqual(['Before', 'A', 'B', 'C'])
  })

  test('NATS restarts in the middle: claims stay good, acknowledgements meanwhile count, what was posted comes', async () => {
    const nats = await natsServer()
    const api = await withNats(nats.url, await fresh())
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = await api.cluster('one')
    for (const reason of ['A', 'B']) await post(api, id, reason)
    const claims: Json[] = []
    while (claims.length < 2) claims.push(...(await claim(api, { max: 2 })).body.items)
    const [a, b] = claims
    await nats.kill()
    await until(async () => (await readiness(api)).body.status === 'degraded')
    expect((await api.call('DELETE', `/events/consumers/dns/claims/${a.receipt}`)).status).toBe(204)
    expect((await api.call('PATCH', `/events/consumers/dns/claims/${b.receipt}`, { visibility: '1s' })).status).toBe(
      204,
    )
    expect(await claim(api)).toMatchObject({ status: 503, body: { code: 'HYPERFLEET-SVC-001' } })
    expect((await post(api, id, 'C')).status).toBe(201)
    await nats.restart()
    const seen = new Set<string>()
    while (seen.size < 2) {
      const answer = await claim(api)
      // Until NATS is found again.
      if (answer.status === 200) for (const reason of reasonsOf(answer)) seen.add(reason)
    }
    expect([...seen].toSorted()).toEqual(['B', 'C'])
  })

  test('NATS is away at the start: the API serves, says so, and delivers everything once NATS is there', async () => {
    const nats = await natsServer()
    await nats.kill()
    const api = await withNats(nats.url, await fresh())
    expect(await readiness(api)).toEqual({
      status: 200,
      body: {
        status: 'degraded',
        reason: `NATS at ${nats.url} does not answer: events wait in the database until it does`,
      },
    })
    expect((await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })).status).toBe(201)
    const { id } = await api.cluster('one')
    expect((await post(api, id, 'A')).status).toBe(201)
    expect((await post(api, id, 'A')).status).toBe(200)
    expect((await claim(api)).status).toBe(503)
    expect([await metric(api, 'event_queue_up'), await metric(api, 'events_unrelayed')]).toEqual([['{} 0'], ['{} 1']])
    await nats.restart()
    await until(async () => (await readiness(api)).body.status === 'ok')
    expect(reasonsOf(await claim(api))).toEqual(['A'])
    await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
    expect(await metric(api, 'event_queue_up')).toEqual(['{} 1'])
  })

  test('a stream that was lost is made anew, and what is not acknowledged is delivered from the database', async () => {
    const nats = await natsServer()
    const api = await withNats(nats.url, await fresh())
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = await api.cluster('one')
    for (const reason of ['A', 'B']) await post(api, id, reason)
    const [first] = (await claim(api)).body.items
    await api.call('DELETE', `/events/consumers/dns/claims/${first.receipt}`)
    await eventsIn(nats.url, 2)
    await (await natsClient(nats.url)).manager.streams.delete(STREAM)
    await post(api, id, 'C')
    const seen: string[] = []
    while (seen.length < 2) {
      const answer = await claim(api)
      if (answer.status === 200) seen.push(...reasonsOf(answer))
    }
    expect(seen).toEqual(['B', 'C'])
  })

  test('a group whose durable consumer another client deleted still gets what waits for it', async () => {
    const nats = await natsServer()
    const api = await withNats(nats.url, await fresh())
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = await api.cluster('one')
    await post(api, id, 'A')
    const [a] = (await claim(api)).body.items
    await api.call('DELETE', `/events/consumers/dns/claims/${a.receipt}`)
    await post(api, id, 'B')
    await eventsIn(nats.url, 2)
    await (await natsClient(nats.url)).manager.consumers.delete(STREAM, 'dns')
    expect(reasonsOf(await claim(api))).toEqual(['B'])
  })
})

test('a message that another client published stops no claim: claims step over it', async () => {
  const nats = await natsServer()
  const api = await withNats(nats.url)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { id } = await api.cluster('one')
  const { publish } = await natsClient(nats.url)
  await publish('not a CloudEvent')
  await publish('neither', 'NaN')
  await post(api, id, 'A')
  expect(reasonsOf(await claim(api))).toEqual(['A'])
})

// NATS-11
test('attack: another client publishes headers that can’t be decoded, or that say what a server says; claims step over them', async () => {
  const nats = await natsServer()
  const api = await withNats(nats.url)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const connection = await connect({ servers: nats.url })
  onTestFinished(() => connection.close())
  const statuses = ['100 Idle Heartbeat', '404 No Messages', '409 Consumer Deleted', '503'].map(
    (status) => `NATS/1.0 ${status}\r\n\r\n`,
  )
  for (const head of [...UNDECODABLE, ...statuses])
    await jetstream(connection).publish('hyperfleet.events.clusters', '', { headers: rawHeaders(head) })
  const { id } = await api.cluster('one')
  await post(api, id, 'New')
  expect(reasonsOf(await claim(api, { max: 10 }))).toEqual(['New'])
  // None of them is left: each was acknowledged.
  const { manager } = await natsClient(nats.url)
  await until(async () => (await manager.consumers.info(STREAM, 'dns')).num_ack_pending === 1)
})

test('while NATS can’t be asked whether an event was taken, an equal one is new, once', async () => {
  const nats = await natsServer()
  const api = await withNats(nats.url)
  const { id } = await api.cluster('one')
  await post(api, id, 'A')
  await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
  await nats.kill()
  await until(async () => (await readiness(api)).body.status === 'degraded')
  expect([(await post(api, id, 'A')).status, (await post(api, id, 'A')).status]).toEqual([201, 200])
})

describe('a client of NATS that binds a group’s durable consumer itself', () => {
  const begin = async (options: Partial<ApiOptions> = {}) => {
    const nats = await natsServer()
    const api = await withNats(nats.url, options)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters', labels: 'region=eu' })
    const { consumers } = await natsClient(nats.url)
    const { id } = await api.cluster('one', { region: 'eu' })
    return { nats, api, id, consumer: await consumers.get(STREAM, 'dns') }
  }

  test('gets the events; what it acknowledges the API does not deliver again', async () => {
    const { api, id, consumer } = await begin()
    await post(api, id, 'A')
    const message = await take(consumer)
    expect(message.json<Json>().data).toMatchObject({ id, reason: 'A' })
    await message.ackAck()
    await post(api, id, 'B')
    expect(reasonsOf(await claim(api))).toEqual(['B'])
  })

  test('sees in a header which messages are for its group', async () => {
    const { api, id, consumer } = await begin()
    const other = await api.cluster('two', { region: 'us' })
    await post(api, other.id, 'NotForUs')
    await post(api, id, 'ForUs')
    const headers = [(await take(consumer)).headers, (await take(consumer)).headers]
    expect(headers.map((header) => header?.get('Muster-Consumers'))).toEqual(['', 'dns'])
  })

  test('has taken what was delivered to it: an equal event is a new one from then on', async () => {
    const { api, id, consumer } = await begin()
    await post(api, id, 'A')
    await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
    expect((await post(api, id, 'A')).status).toBe(200)
    await take(consumer)
    expect((await post(api, id, 'A')).status).toBe(201)
  })

  // API-50, API-52
  test('is awaited by a deletion until it has acknowledged what it took before, and no longer', async () => {
    const nats = await natsServer()
    const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: 'reporting' as const }]
    const api = await withNats(nats.url, { entities })
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const [taken, waiting] = [await api.cluster('taken'), await api.cluster('waiting')]
    for (const { id } of [taken, waiting]) await post(api, id, 'New')
    const message = await take(await (await natsClient(nats.url)).consumers.get(STREAM, 'dns'))
    expect(message.json<Json>().data.id).toBe(taken.id)
    const codes = () =>
      Promise.all([taken, waiting].map(async ({ id }) => (await api.call('GET', `/clusters/${id}`)).status))
    const preview = await api.call('DELETE', `/clusters/${taken.id}?dry_run=true`)
    expect(preview.body.resources[0].awaited_groups).toEqual(['dns'])
    const deleted = await api.call('DELETE', `/clusters/${taken.id}`)
    expect(deleted.body.status.awaited_groups).toEqual(['dns'])
    await api.call('DELETE', `/clusters/${waiting.id}`)
    expect(await codes()).toEqual([200, 404])
    await message.ackAck()
    await expect.poll(codes, { timeout: 8_000, interval: 200 }).toEqual([404, 404])
  })

  test('makes a dead letter of what it gives up, and gets it again when that is replayed', async () => {
    const { api, id, consumer } = await begin()
    await post(api, id, 'A')
    const message = await take(consumer)
    message.term('not understood')
    const deadLetters = async () => (await api.call('GET', '/events/consumers/dns/dead-letters')).body.items
    await until(async () => (await deadLetters()).length === 1)
    expect(await deadLetters()).toMatchObject([{ id: `${id}.1`, deliveries: 1 }])
    await api.call('POST', `/events/consumers/dns/dead-letters/${id}.1/replay`)
    expect((await take(consumer)).json<Json>()).toMatchObject({ id: `${id}.1`, replay: 1 })
  })

  test('and one with a durable consumer of its own counts as taking too', async () => {
    const { nats, api, id } = await begin()
    const { manager, consumers } = await natsClient(nats.url)
    await manager.consumers.add(STREAM, { durable_name: 'own', ack_policy: 'explicit' })
    await post(api, id, 'A')
    await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
    expect((await post(api, id, 'A')).status).toBe(200)
    await take(await consumers.get(STREAM, 'own'))
    expect((await post(api, id, 'A')).status).toBe(201)
  })
})

test('what waits in the database when NATS is first used goes to JetStream, and comes back when it is no longer', async () => {
  const nats = await natsServer()
  const { dataDir } = await temporaryData()
  const alone = await serve({ dataDir }, systemClock)
  await alone.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { id } = await alone.cluster('one')
  for (const reason of ['A', 'B', 'C']) await post(alone, id, reason)
  const [a] = (await claim(alone)).body.items
  await alone.call('DELETE', `/events/consumers/dns/claims/${a.receipt}`)
  await alone.stop()
  const relayed = await serve({ dataDir, natsUrl: nats.url }, systemClock)
  const [b] = (await claim(relayed)).body.items
  expect(b.event.data.reason).toBe('B')
  await relayed.call('DELETE', `/events/consumers/dns/claims/${b.receipt}`)
  await relayed.stop()
  expect(reasonsOf(await claim(await serve({ dataDir }, systemClock), { max: 10 }))).toEqual(['C'])
})

test('a NATS that refuses the API’s user for a while is used again when it lets it in', async () => {
  const config = join(await temporaryFolder('nats-users'), 'nats.conf')
  const users = (password: string) =>
    writeFile(config, `authorization { users: [{ user: "muster", password: "${password}" }] }`)
  await users('right')
  const nats = await startNats(config)
  onTestFinished(() => nats.stop())
  const api = await withNats(nats.url.replace('//', '//muster:right@'))
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { id } = await api.cluster('one')

  await users('another')
  nats.reload()
  // Twice: a client of NATS takes a second refusal in a row for final.
  await until(async () => (await readFile(nats.logFile, 'utf8')).split('authentication error').length > 3)
  expect((await readiness(api)).body.status).toBe('degraded')
  await post(api, id, 'A')
  await users('right')
  nats.reload()
  await until(async () => (await readiness(api)).body.status === 'ok')
  expect(reasonsOf(await claim(api))).toEqual(['A'])
})

test('a claim may wait for so many milliseconds and a half', async () => {
  const nats = await natsServer()
  const api = await withNats(nats.url)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  expect(await claim(api, { wait: '50.5ms' })).toMatchObject({ status: 200, body: { items: [] } })
})

// API-75
test('a claim waits no longer for a clock that is set back meanwhile', async () => {
  const nats = await natsServer()
  let setBy = 0
  const clock = { ...systemClock, now: () => new Date(Date.now() + setBy) }
  const api = await withNats(nats.url, {}, clock)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { manager } = await natsClient(nats.url)
  const waiting = claim(api, { wait: '3s' })
  await until(async () => (await manager.consumers.info(STREAM, 'dns').catch(() => undefined))?.num_waiting === 1)
  setBy = -86_400_000
  expect(await waiting).toMatchObject({ status: 200, body: { items: [] } })
})

test('a NATS that is away is named in the log without its password', async () => {
  const lines: string[] = []
  const log = {
    ...silent,
    warn: (message: string, fields?: object) => lines.push(`${message} ${JSON.stringify(fields)}`),
  }
  await serve({ natsUrl: 'nats://user:secret@127.0.0.1:1', log })
  expect(lines.join()).toContain('jetstream: NATS is away, events wait in the database {"nats":"nats://127.0.0.1:1"')
  expect(lines.join()).not.toContain('secret')
})

// API-77
describe('what waits is delivered, once each, and an equal pulse is answered with it, after the stream was', () => {
  const begin = async (options: Partial<ApiOptions> = {}) => {
    const nats = await natsServer()
    const api = await withNats(nats.url, options)
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    const { id } = await api.cluster('one')
    return { nats, api, id, client: await natsClient(nats.url) }
  }
  type Begun = Awaited<ReturnType<typeof begin>>

  const messagesIn = async ({ nats }: Begun, count: number) => {
    const { manager } = await natsClient(nats.url)
    await until(async () => (await manager.streams.info(STREAM)).state.messages === count)
  }

  /** Of the stream as it is now. @returns how to put it back while NATS is down */
  const backUp = async ({ nats }: Begun): Promise<() => Promise<void>> => {
    const [data, backup] = ['jetstream', 'backup'].map((name) => join(dirname(nats.logFile), name)) as [string, string]
    await nats.kill()
    await cp(data, backup, { recursive: true })
    await nats.restart()
    return async () => {
      await rm(data, { recursive: true })
      await rename(backup, data)
    }
  }

  const expectDelivery = async ({ api }: Begun, reasons: readonly string[]) => {
    const seen: string[] = []
    while (!reasons.every((reason) => seen.includes(reason))) {
      const answer = await claim(api, { max: 10 })
      for (const { receipt } of answer.body.items ?? [])
        await api.call('DELETE', `/events/consumers/dns/claims/${receipt}`)
      if (answer.status === 200) seen.push(...reasonsOf(answer))
    }
    expect(seen.toSorted()).toEqual(reasons)
    await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
    expect((await claim(api, { wait: '0s' })).body.items).toEqual([])
  }

  test.each([0, 1, 5])('deleted and made anew by another client, with %i messages of others', async (others) => {
    const begun = await begin()
    const { api, id, client } = begun
    for (const reason of ['A', 'B']) await post(api, id, reason)
    await messagesIn(begun, 2)
    // So that it is known which stream this is.
    await post(api, id, 'A')
    const { config } = await client.manager.streams.info(STREAM)
    const replace = async (): Promise<void> => {
      await client.manager.streams.delete(STREAM)
      // The API may have been first, when it just looked.
      await client.manager.streams.add(config).catch((error: Error) => {
        if (!error.message.includes('already in use')) throw error
        return replace()
      })
    }
    await replace()
    for (let count = 0; count < others; count += 1) await client.publish('{}')
    expect((await post(api, id, 'A')).status).toBe(200)
    await post(api, id, 'C')
    await expectDelivery(begun, ['A', 'B', 'C'])
  })

  test('deleted, and nothing is posted since', async () => {
    const begun = await begin()
    const { api, id, client } = begun
    for (const reason of ['A', 'B']) await post(api, id, reason)
    await messagesIn(begun, 2)
    await client.manager.streams.delete(STREAM)
    await expectDelivery(begun, ['A', 'B'])
  })

  test.each([
    ['purged', undefined],
    ['purged up to a message', { seq: 3 }],
    ['purged by subject', { filter: 'hyperfleet.events.clusters' }],
  ] as const)('%s', async (_, options) => {
    const begun = await begin()
    const { api, id, client } = begun
    for (const reason of ['A', 'B', 'C']) await post(api, id, reason)
    await messagesIn(begun, 3)
    await client.manager.streams.purge(STREAM, options)
    expect((await post(api, id, 'A')).status).toBe(200)
    await post(api, id, 'D')
    await expectDelivery(begun, ['A', 'B', 'C', 'D'])
  })

  test('robbed of one message', async () => {
    const begun = await begin()
    const { api, id, client } = begun
    for (const reason of ['A', 'B', 'C']) await post(api, id, reason)
    await messagesIn(begun, 3)
    await client.manager.streams.deleteMessage(STREAM, 2)
    expect((await post(api, id, 'B')).status).toBe(200)
    await expectDelivery(begun, ['A', 'B', 'C'])
  })

  // The new messages take the places of those that are gone, before anything is asked of the stream.
  test('restored to an earlier state before the API starts, which has as many to hand over', async () => {
    const data = await temporaryData()
    const begun = await begin(data)
    const { nats, api, id } = begun
    await post(api, id, 'A')
    await messagesIn(begun, 1)
    const restore = await backUp(begun)
    for (const reason of ['B', 'C']) await post(api, id, reason)
    await messagesIn(begun, 3)
    await nats.kill()
    await restore()
    for (const reason of ['D', 'E']) await post(api, id, reason)
    await api.stop()
    await nats.restart()
    await expectDelivery({ ...begun, api: await withNats(nats.url, data) }, ['A', 'B', 'C', 'D', 'E'])
  })

  test('restored to an earlier state', async () => {
    const begun = await begin()
    const { nats, api, id } = begun
    await post(api, id, 'A')
    await messagesIn(begun, 1)
    const restore = await backUp(begun)
    for (const reason of ['B', 'C']) await post(api, id, reason)
    await messagesIn(begun, 3)
    await nats.kill()
    await restore()
    await nats.restart()
    await until(async () => (await readiness(api)).body.status === 'ok')
    await expectDelivery(begun, ['A', 'B', 'C'])
  })
})

// API-77
test('what a stream that is near its limits has dropped is not handed to it again, for which it would drop others', async () => {
  const nats = await natsServer()
  const { manager } = await natsClient(nats.url)
  await manager.streams.add({ name: STREAM, subjects: ['hyperfleet.events.>'], max_msgs: 4 })
  const api = await withNats(nats.url)
  await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
  const { id } = await api.cluster('one')
  for (const reason of ['A', 'B', 'C', 'D', 'E', 'F']) await post(api, id, reason)
  const state = async () => (await manager.streams.info(STREAM)).state
  await until(async () => (await state()).last_seq === 6)
  // Answered when the stream was looked at.
  expect((await post(api, id, 'F')).status).toBe(200)
  await until(async () => (await metric(api, 'events_unrelayed'))[0] === '{} 0')
  expect(await state()).toMatchObject({ first_seq: 3, last_seq: 6 })
})

// API-77
test('what was read of a stream before another replica found it replaced says nothing of the new one’s messages', async () => {
  const database = await openDatabase({ ...(await temporaryData()), onError: () => {} })
  onTestFinished(() => database.close())
  const { kysely } = database
  const entities = defineEntities(builtinEntities)
  const time = timestampOf(new Date(0))
  const event = { resource_id: 'one', kind: 'Cluster', reason: 'A', generation: 1, document: '{}' }
  await storeConsumer(database, { name: 'dns', kind: 'Cluster', selector: '', maxDeliveries: 5 }, time)
  await kysely
    .insertInto('events')
    .values({ ...event, sequence: 1, id: 'a', time })
    .execute()
  await kysely
    .insertInto('event_deliveries')
    .values({ consumer: 'dns', event_sequence: 1, visible_time: time, deliveries: 0 })
    .execute()
  const place = async (created: string) => {
    await kysely.updateTable('event_deliveries').set({ stream_sequence: 1 }).execute()
    await kysely.updateTable('event_stream').set({ created, newest: 1 }).execute()
  }
  await place('before')
  const done = { stream_seq: 1, consumer_seq: 1 }
  const durable = { name: 'dns', config: { durable_name: 'dns' }, delivered: done, ack_floor: done }
  const manager = {
    consumers: { list: () => [durable] },
    streams: {
      info: async () => {
        await resetRelay(database, await readPlaces(kysely), 'after')
        await place('after')
        return {
          created: 'before',
          config: { retention: 'limits' },
          state: { first_seq: 1, last_seq: 1, num_deleted: 0 },
        }
      },
    },
  }
  const broker = { ensureStream: async () => {}, connected: () => ({ manager }) } as unknown as Broker
  const wakeup = { wake: () => {}, onWake: () => () => {}, close: async () => {} }
  expect(await syncProgress({ broker, database, entities, wakeup, clock: systemClock, log: silent })).toBe(false)
  expect(await kysely.selectFrom('event_deliveries').select('stream_sequence').execute()).toEqual([
    { stream_sequence: 1 },
  ])
})
