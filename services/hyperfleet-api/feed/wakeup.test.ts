import { EventEmitter } from 'node:events'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silent } from '#operator/model/log.ts'
import { createWakeup, POLL_INTERVAL_MS } from './wakeup.ts'

/**
 * A connection of a pool as pg has it: an error is emitted and rejects what is under way, and a second release throws. One that
 * is kept would be handed out with what listens on it, once more each time.
 */
class ScriptedConnection extends EventEmitter {
  released = 0
  #answer = Promise.withResolvers<void>()

  query(): Promise<void> {
    return this.#answer.promise
  }
  listens(): void {
    this.#answer.resolve()
  }
  /** PostgreSQL refuses LISTEN, and the connection stays. */
  refuses(): void {
    this.#answer.reject(new Error('cannot execute LISTEN during recovery'))
  }
  breaks(): void {
    this.#answer.reject(new Error('Connection terminated'))
    this.emit('error', new Error('terminating connection due to administrator command'))
  }
  release(isEnded?: boolean): void {
    if (isEnded !== true) throw new Error('a connection with listeners is kept in the pool')
    if (++this.released > 1) throw new Error('Release called on client which has already been released to the pool.')
  }
}

const scriptedPool = () => {
  const connections: ScriptedConnection[] = []
  const connect = () => {
    const connection = new ScriptedConnection()
    connections.push(connection)
    return Promise.resolve(connection)
  }
  const statements: string[] = []
  const query = (sql: string) => {
    statements.push(sql)
    return Promise.resolve()
  }
  return { connections, statements, pool: { connect, query } as unknown as pg.Pool }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const later = () => vi.advanceTimersByTimeAsync(POLL_INTERVAL_MS)

test('a LISTEN that is refused gives its connection back, and one more is tried each second', async () => {
  const { connections, pool } = scriptedPool()
  const wakeup = createWakeup({ pool }, silent)
  for (const round of [1, 2, 3]) {
    await vi.advanceTimersByTimeAsync(0)
    expect(connections).toHaveLength(round)
    connections[round - 1]?.refuses()
    await later()
  }
  expect(connections.map(({ released }) => released)).toEqual([1, 1, 1, 0])
  await wakeup.close()
})

test('a connection that breaks while it is asked to listen is released once, and one follows it', async () => {
  const { connections, pool } = scriptedPool()
  const wakeup = createWakeup({ pool }, silent)
  await vi.advanceTimersByTimeAsync(0)
  connections[0]?.breaks()
  await later()
  await later()
  expect(connections.map(({ released }) => released)).toEqual([1, 0])
  connections[1]?.listens()
  await wakeup.close()
})

test('a connection that breaks while it is closed is released once, and none follows it', async () => {
  const { connections, pool } = scriptedPool()
  const wakeup = createWakeup({ pool }, silent)
  await vi.advanceTimersByTimeAsync(0)
  connections[0]?.listens()
  await vi.advanceTimersByTimeAsync(0)
  await wakeup.close()
  connections[0]?.breaks()
  await later()
  expect(connections.map(({ released }) => released)).toEqual([1])
})

// API-85
test('a process wakes once by its own word, others by that of its topic, and by any of a version without topics', async () => {
  const { connections, statements, pool } = scriptedPool()
  const wakeup = createWakeup({ pool }, silent)
  const woken: string[] = []
  for (const topic of ['changes', 'events'] as const) wakeup.onWake(topic, () => woken.push(topic))
  await vi.advanceTimersByTimeAsync(0)
  connections[0]?.listens()
  await vi.advanceTimersByTimeAsync(0)
  const isTold = (payload: string) => {
    woken.length = 0
    connections[0]?.emit('notification', { payload })
    return [...woken]
  }
  woken.length = 0
  wakeup.wake('events')
  expect(woken).toEqual(['events'])
  const [, own = ''] = /^notify muster_hyperfleet, '(events [0-9a-f-]{36})'$/.exec(statements[0] ?? '') ?? []
  expect(isTold(own)).toEqual([])
  expect(isTold('events another')).toEqual(['events'])
  expect(isTold('changes another')).toEqual(['changes'])
  expect(isTold('')).toEqual(['changes', 'events'])
  await wakeup.close()
})
