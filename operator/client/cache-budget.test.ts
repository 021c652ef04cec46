import { array, assert, constantFrom, nat, oneof, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { CacheBudget, CacheFullError } from './cache-budget.ts'

const KIB = 1_024
/** As text, so that it costs three KiB with what is kept beside it. */
const TEXT = 2 * KIB

test('RUNTIME-55: what all caches hold together is bounded; what is in one may change, and what goes makes room', () => {
  const budget = new CacheBudget(10 * KIB)
  const [first, second] = [budget.open(), budget.open()]
  first.put('a', TEXT)
  first.put('b', TEXT)
  second.put('a', TEXT)
  expect(() => second.put('b', TEXT)).toThrow(CacheFullError)
  second.put('a', 2 * TEXT)
  expect(() => second.put('b', 0)).toThrow(CacheFullError)
  first.remove('b')
  second.put('b', 0)
  first.close()
  second.put('c', TEXT)
})

test('whatever came and went, caches that are closed leave nothing behind', () => {
  const key = constantFrom('a', 'b', 'c', 'd')
  const step = oneof(
    record({ does: constantFrom('put'), share: nat(1), key, bytes: nat(4_000) }),
    record({ does: constantFrom('remove', 'close'), share: nat(1), key, bytes: constantFrom(0) }),
  )
  assert(
    property(array(step), (steps) => {
      const budget = new CacheBudget(10 * KIB)
      const shares = [budget.open(), budget.open()] as const
      for (const { does, share, key, bytes } of steps) {
        const one = shares[share] ?? shares[0]
        if (does === 'close') one.close()
        else if (does === 'remove') one.remove(key)
        else
          try {
            one.put(key, bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(CacheFullError)
          }
      }
      for (const one of shares) one.close()
      budget.open().put('all of it', 9 * KIB)
      expect(() => budget.open().put('more', 0)).toThrow(CacheFullError)
    }),
  )
})
