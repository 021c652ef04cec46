import { readFileSync } from 'node:fs'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { type Identity, identify, isRunning } from '#hack/process/identity.ts'
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

const ON_LINUX = process.platform === 'linux'

test.skipIf(!ON_LINUX).for(['restart', 'kill'] as const)(
  'a PostgreSQL with a session that is busy: after a %s none of its former processes runs, and it goes on',
  async (end, { skip }) => {
    const missing = postgresMissing()
    if (missing !== undefined) skip(missing)
    await using server = await startPostgres()
    const client = new Client({ connectionString: server.url })
    client.on('error', () => {})
    await client.connect()
    const [{ session, parent } = {}] = (
      await client.query("select pg_backend_pid() as session, (pg_read_file('postmaster.pid', 0, 20)) as parent")
    ).rows
    // It looks for nothing while it counts, its server's end included.
    const busy = expect(
      client.query('select count(*) from generate_series(1, 100000) as a, generate_series(1, 100000) as b'),
    ).rejects.toThrow()
    const processes = await childrenOf(Number.parseInt(parent, 10))
    expect(processes.map(({ pid }) => pid)).toContain(session)

    await server[end]()

    const running = await Promise.all(processes.map(isRunning))
    expect(processes.filter((_, n) => running[n])).toEqual([])
    await busy
    if (end === 'kill') await server.restart()
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
  },
)

const childrenOf = async (pid: number): Promise<readonly Identity[]> => {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  return (await Promise.all(pids.map(identify))).filter((identity) => identity !== undefined)
}

const query = async (url: string, text: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
