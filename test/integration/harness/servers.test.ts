import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { postgresMissing, startNats, startPostgres } from '#test/harness/index.ts'

test('a nats-server that was killed keeps its streams and its port', async () => {
  await using server = await startNats()
  const before = await connect({ servers: server.url, reconnect: false })
  const manager = await jetstreamManager(before)
  await manager.streams.add({ name: 'kept', subjects: ['kept.>'] })
  await jetstream(before).publish('kept.one', 'hello')
  await server.restart()

  const after = await connect({ servers: server.url })
  const stream = await (await jetstreamManager(after)).streams.info('kept')
  expect(stream.state.messages).toBe(1)
  await after.close()
})

test('a PostgreSQL that was killed recovers on its port', async ({ skip }) => {
  const missing = postgresMissing()
  if (missing !== undefined) skip(missing)
  await using server = await startPostgres()
  await query(server.url, 'create table kept as select 1 as one')
  await server.restart()
  expect(await query(server.url, 'select one from kept')).toEqual([{ one: 1 }])
})

const query = async (url: string, text: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
