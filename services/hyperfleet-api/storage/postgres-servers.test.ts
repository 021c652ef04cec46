import { EventEmitter } from 'node:events'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Clock } from '#operator/model/clock.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import { followServers, type PostgresServers, type Probe } from './postgres-servers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const elapse = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)
const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

/** Vitest's time. */
const clock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (duration) => sleep(toMilliseconds(duration)),
}

/** A new connection that nothing answers. */
const unanswered: Probe = (_onAnswer, signal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)))

/** A connection as pg has it: what is under way fails when its stream is destroyed. */
class ScriptedConnection extends EventEmitter {
  brokenAt: number | undefined
  readonly #broken = Promise.withResolvers<never>()
  constructor() {
    super()
    this.#broken.promise.catch(() => {})
  }

  readonly connection = {
    stream: {
      destroy: () => {
        this.brokenAt ??= performance.now()
        this.#broken.reject(new Error('Connection terminated unexpectedly'))
        this.emit('end')
      },
    },
  }

  query(): Promise<unknown> {
    return Promise.resolve({ rows: [{ isStandby: false, server: 'one' }] })
  }
  /** A statement that gets this answer; none by itself. */
  send(servers: PostgresServers, answer: Promise<unknown> = new Promise(() => {})): void {
    servers.follow(this.client, () => Promise.race([answer, this.#broken.promise])).catch(() => {})
  }
  get client(): pg.ClientBase {
    return this as unknown as pg.ClientBase
  }
}

const connectTo = async (servers: PostgresServers): Promise<ScriptedConnection> => {
  const connection = new ScriptedConnection()
  await servers.identify(connection.client, 10_000)
  return connection
}

// API-97
test('a server that vanishes: a statement is given up 11 to 12 s after it was sent, and one that is sent meanwhile no later', async () => {
  const servers = followServers(unanswered, clock)
  const sent: { readonly at: number; readonly connection: ScriptedConnection }[] = []
  for (let n = 0; n < 200; n += 1) {
    const connection = await connectTo(servers)
    sent.push({ at: performance.now(), connection })
    connection.send(servers)
    await elapse(110)
  }
  await elapse(12_000)
  const lasted = sent.map(({ at, connection }) => (connection.brokenAt ?? Infinity) - at)
  expect(lasted[0]).toBeGreaterThanOrEqual(11_000)
  expect(lasted.filter((milliseconds) => milliseconds > 12_000)).toEqual([])
  expect(lasted.filter((milliseconds) => milliseconds < 2_000)).toEqual([])
  servers.close()
})

// API-97
test.each<[string, Probe]>([
  [
    'takes a new connection and is slow to say which server it is',
    async (onAnswer, signal) => {
      await sleep(2_900)
      onAnswer()
      return unanswered(onAnswer, signal)
    },
  ],
  ['says that it takes no new connection at present', async () => 'refused'],
  ['is the same', async () => 'one'],
])('a statement is left alone, however long it takes, while its server %s', async (_what, probe) => {
  const servers = followServers(probe, clock)
  const connection = await connectTo(servers)
  connection.send(servers)
  await elapse(60_000)
  expect(connection.brokenAt).toBeUndefined()
  servers.close()
})

// API-97
test.each([
  ['brings rows', () => Promise.resolve({ rows: [] })],
  ['is an error of the database', () => Promise.reject(new pg.DatabaseError('deadlock', 8, 'error'))],
])(
  'a server that takes no new connection is there as long as it answers others, also where the answer %s',
  async (_what, answer) => {
    const servers = followServers(unanswered, clock)
    const [long, other] = [await connectTo(servers), await connectTo(servers)]
    long.send(servers)
    for (let n = 0; n < 12; n += 1) {
      other.send(servers, sleep(1_000).then(answer))
      await elapse(5_000)
    }
    expect(long.brokenAt).toBeUndefined()
    await elapse(12_000)
    expect(long.brokenAt).toBeDefined()
    servers.close()
  },
)

// API-97
test('where new connections lead to another server, those to the one before are broken within 3 s', async () => {
  const servers = followServers(async () => 'two', clock)
  const [silent, idle] = [await connectTo(servers), await connectTo(servers)]
  silent.send(servers)
  await elapse(3_000)
  expect([silent, idle].map(({ brokenAt }) => brokenAt !== undefined)).toEqual([true, true])
  servers.close()
})
