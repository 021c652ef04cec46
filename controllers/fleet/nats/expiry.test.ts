import { expect, test } from 'vitest'
import { Expiry } from './expiry.ts'

const TTL = 90_000
/** The server's clock, which has nothing to do with ours. */
const SERVER = Date.parse('2026-01-01T00:00:00Z')
const at = (milliseconds: number) => new Date(SERVER + milliseconds)

const expiry = () => {
  const made = new Expiry(TTL)
  made.synchronize(SERVER, 5_000)
  return { made, take: (last: number, passed: number) => made.take(last, 5_000 + passed) }
}

const write = (made: Expiry, key: string, revision: number, when: number) => {
  made.read(revision)
  made.written(key, revision, at(when))
}

// FLEET-15
test('a key expires when its time has passed by the server’s clock, once, and lives for as long as it is written again', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  write(made, 'b', 2, 1_000)
  expect(take(2, TTL - 1)).toEqual([])
  write(made, 'b', 3, TTL - 1)
  expect(take(3, TTL)).toEqual([{ key: 'a', at: at(TTL) }])
  expect(take(3, 2 * TTL - 2)).toEqual([])
  expect(take(3, 2 * TTL - 1)).toEqual([{ key: 'b', at: at(2 * TTL - 1) }])
  expect(take(3, 10 * TTL)).toEqual([])
})

test('where the reading lags behind, a key expires only when it has not been read again by the next look', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  write(made, 'b', 2, 0)
  expect(take(4, TTL)).toEqual([])
  write(made, 'b', 3, TTL)
  expect(take(4, TTL + 5_000)).toEqual([{ key: 'a', at: at(TTL) }])
})

test('a key that was deleted, or whose bucket is another one, does not expire', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  write(made, 'b', 2, 0)
  made.gone('a')
  expect(take(2, TTL)).toEqual([{ key: 'b', at: at(TTL) }])
  write(made, 'c', 3, 0)
  made.clear()
  expect(take(0, TTL)).toEqual([])
})

test('a value that the server kept beyond its time is old when it is read', () => {
  const { made } = expiry()
  expect(made.endOf(at(-TTL - 1), 5_000)).toEqual(at(-1))
  expect(made.endOf(at(-TTL + 1), 5_000)).toBeUndefined()
})

// FLEET-15
test('clock: the server’s is set back by an hour; a device that is silent since is offline after its time, not an hour later', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  made.synchronize(SERVER - 3_600_000, 5_000)
  expect(take(1, TTL - 1)).toEqual([])
  expect(take(1, TTL)).toEqual([{ key: 'a', at: at(TTL - 3_600_000) }])
})
