import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startNats } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig, PATIENCE } from './world.ts'

let nats: Awaited<ReturnType<typeof startNats>>
let world: AdapterWorld

beforeAll(async () => {
  nats = await startNats()
  world = await adapterWorld({ natsUrl: nats.url })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await nats?.stop()
})

test('events come from JetStream; what is no event is set aside at once and holds nobody up', async () => {
  await world.declare('streamed', {
    ...namespaceAndConfig(),
    events: { transport: 'nats', url: nats.url, maxConcurrent: 4 },
  })
  await world.manager()
  const connection = await connect({ servers: nats.url })
  try {
    const stream = jetstream(connection)
    await stream.publish('hyperfleet.events.clusters', 'this is no CloudEvent')
    await stream.publish('hyperfleet.events.clusters', JSON.stringify({ specversion: '1.0', id: 'x', type: 'y' }))
  } finally {
    await connection.close()
  }
  const { id } = await world.create('streamed')
  await world.pulse(id)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  await vi.waitFor(
    async () => expect((await world.task('streamed')).status).toMatchObject({ deadLetters: 2 }),
    PATIENCE,
  )
  await world.until('streamed', 'Working')
})
