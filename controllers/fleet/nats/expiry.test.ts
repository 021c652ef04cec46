import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Expiry } from './expiry.ts'

const TTL = 90_000
/** The server's clock, which has nothing to do with ours. */
const SERVER = Date.parse('2026-01-01T00:00:00Z')
const at = (milliseconds: number) => new Date(SERVER + milliseconds)

const expiry = () => {
  const made = new Expiry(TTL)
  made.synchronize(SERVER, 5_000)
  /** A look so much later, when all was read. */
  const take = (passed: number) => made.old(5_000 + passed).map((key) => made.take(key, 5_000 + passed))
  return { made, take }
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
  expect(take(TTL - 1)).toEqual([])
  write(made, 'b', 3, TTL - 1)
  expect(take(TTL)).toEqual([{ key: 'a', at: at(TTL) }])
  expect(take(2 * TTL - 2)).toEqual([])
  expect(take(2 * TTL - 1)).toEqual([{ key: 'b', at: at(2 * TTL - 1) }])
  expect(take(10 * TTL)).toEqual([])
})

test('where the reading lags behind, it knows that, and what the server says holds', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  write(made, 'b', 2, 0)
  expect([made.hasRead(2), made.hasRead(3)]).toEqual([true, false])
  made.written('b', 3, at(TTL))
  expect(made.hasRead(3)).toBe(false)
  expect(take(TTL)).toEqual([{ key: 'a', at: at(TTL) }])
  expect(take(2 * TTL)).toEqual([{ key: 'b', at: at(2 * TTL) }])
})

test('a key that was deleted, or whose bucket is another one, does not expire', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  write(made, 'b', 2, 0)
  made.gone('a')
  expect(take(TTL)).toEqual([{ key: 'b', at: at(TTL) }])
  write(made, 'c', 3, 0)
  made.clear()
  expect(take(TTL)).toEqual([])
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
  expect(take(TTL - 1)).toEqual([])
  expect(take(TTL)).toEqual([{ key: 'a', at: at(TTL - 3_600_000) }])
})

// FLEET-15
test('clock: what was written before it was set back, and is read again, lives no longer for that', () => {
  const { made, take } = expiry()
  write(made, 'a', 1, 0)
  made.synchronize(SERVER - 3_600_000, 5_000)
  write(made, 'a', 1, 0)
  expect(take(TTL)).toEqual([{ key: 'a', at: at(TTL - 3_600_000) }])
})

// FLEET-15
test('however far the reading is behind, and whatever the server loses: a key ends at a look if the server has none of it that is younger, and never else', () => {
  const key = fc.constantFrom('a', 'b')
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('beat'), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('purge'), key }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('read'), entries: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), seconds: fc.integer({ min: 10, max: 100 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('look') }) },
  )
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
      const made = new Expiry(TTL)
      const written: { readonly key: string; readonly revision: number; readonly at: number }[] = []
      const stored = new Map<string, (typeof written)[number]>()
      /** When each was written last, by what was told. */
      const alive = new Map<string, number>()
      const told = (one: string, when: number) => alive.set(one, Math.max(when, alive.get(one) ?? 0))
      let [now, read] = [0, 0]
      for (const each of steps) {
        if (each.do === 'beat') {
          const entry = { key: each.key, revision: written.length + 1, at: now }
          written.push(entry)
          stored.set(each.key, entry)
        } else if (each.do === 'purge') stored.delete(each.key)
        else if (each.do === 'read') {
          // What is on its way comes, whatever became of it.
          for (const { key: of, revision, at: when } of written.slice(read, read + each.entries)) {
            write(made, of, revision, when)
            told(of, when)
          }
          read = Math.min(written.length, read + each.entries)
        } else if (each.do === 'pass') now += each.seconds * 1_000
        else {
          const isOld = (when: number) => when + TTL <= now
          made.synchronize(SERVER + now, now)
          const old = made.old(now)
          if (!made.hasRead(written.length))
            for (const one of old) {
              const found = stored.get(one)
              if (found === undefined) continue
              made.written(one, found.revision, at(found.at))
              told(one, found.at)
            }
          const ended = new Set(old.filter((one) => made.take(one, now) !== undefined))
          for (const [one, when] of alive) {
            const found = stored.get(one)
            const isDead = isOld(when) && (found === undefined || isOld(found.at))
            expect([one, ended.has(one)]).toEqual([one, isDead])
            if (isDead) alive.delete(one)
          }
        }
      }
    }),
  )
})
