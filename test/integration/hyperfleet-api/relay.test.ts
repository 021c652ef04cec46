import { setTimeout as delay } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { startNats } from '#test/harness/index.ts'
import { onBothDatabases, serve, type TestApi } from './support.ts'

const STREAM = 'hyperfleet-events'

const post = (api: TestApi, resourceId: string, reason: string) =>
  api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason })

const natsServer = async () => {
  const nats = await startNats()
  onTestFinished(() => nats.stop())
  return nats
}

/** Every event that the stream has, once there are so many. */
const eventsIn = async (url: string, count: number) => {
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  const manager = await jetstreamManager(connection)
  while ((await manager.streams.info(STREAM)).state.messages < count) await delay(20)
  const consumer = await jetstream(connection).consumers.get(STREAM)
  const events: { subject: string; id: string | undefined; body: { id: string; data: { reason: string } } }[] = []
  const messages = await consumer.fetch({ max_messages: count, expires: 5_000 })
  for await (const message of messages)
    events.push({ subject: message.subject, id: message.headers?.get('Nats-Msg-Id'), body: message.json() })
  return events
}

onBothDatabases((fresh) => {
  test('an event goes to JetStream under its kind’s subject, its id being the message id', async () => {
    const nats = await natsServer()
    const api = await serve({ ...(await fresh()), natsUrl: nats.url })
    const { id } = await api.cluster('one')
    const { body } = await post(api, id, 'New')
    expect(await eventsIn(nats.url, 1)).toEqual([{ subject: 'hyperfleet.events.clusters', id: `${id}.1`, body }])
  })

  test('what was posted while NATS was away gets there when it is back, each once and in order', async () => {
    const nats = await natsServer()
    const api = await serve({ ...(await fresh()), natsUrl: nats.url })
    const { id } = await api.cluster('one')
    await post(api, id, 'Before')
    await eventsIn(nats.url, 1)
    await nats.kill()
    for (const reason of ['A', 'B', 'C']) expect((await post(api, id, reason)).status).toBe(201)
    await nats.restart()
    const events = await eventsIn(nats.url, 4)
    expect(events.map(({ body }) => body.data.reason)).toEqual(['Before', 'A', 'B', 'C'])
  })
})

test('a NATS that can’t be reached is refused at start, without its password in the message', async () => {
  await expect(serve({ natsUrl: 'nats://user:secret@127.0.0.1:1' })).rejects.toThrow(
    "NATS at nats://127.0.0.1:1 can't be reached: start it, or leave its URL away",
  )
})
