import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRateLimiter } from './token-bucket.ts'

const LIMIT = { rate: 10, burst: 5 }
const at = (milliseconds: number) => new Date(milliseconds)

test('after a rest a burst is taken at once, and then each request waits for its token', () => {
  const limit = createRateLimiter(LIMIT)
  expect([1, 2, 3, 4, 5].map(() => limit.take('a', at(0)))).toEqual([0, 0, 0, 0, 0])
  expect(limit.take('a', at(0))).toBe(100)
  expect(limit.take('a', at(60))).toBe(40)
  expect(limit.take('a', at(100))).toBe(0)
  expect(limit.take('a', at(100))).toBe(100)
})

test('a burst is taken at once at any rate', () => {
  const settings = fc.record({ rate: fc.integer({ min: 1, max: 1_000 }), burst: fc.integer({ min: 1, max: 20 }) })
  fc.assert(
    fc.property(settings, fc.constantFrom(0, 1_795_000_000_000), (limits, start) => {
      const limit = createRateLimiter(limits)
      const burst = Array.from({ length: limits.burst }, () => limit.take('a', at(start)))
      expect(burst).toEqual(burst.map(() => 0))
    }),
  )
})

test('a caller that waits as long as it is told gets in', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 50 })
  const limits = fc.record({ rate: fc.integer({ min: 1, max: 1_000 }), burst: fc.integer({ min: 1, max: 20 }) })
  fc.assert(
    fc.property(arrivals, limits, fc.constantFrom(0, 1_795_000_000_000), (pauses, settings, start) => {
      const limit = createRateLimiter(settings)
      let now = start
      for (const pause of pauses) {
        now += pause
        const wait = limit.take('a', at(now))
        if (wait === 0) continue
        now += wait
        expect(limit.take('a', at(now))).toBe(0)
      }
    }),
    { examples: [[[0, 0, 0, 0, 0, 8], LIMIT, 0]] },
  )
})

test('in any span no more get in than the burst and what the rate allows', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 200 })
  fc.assert(
    fc.property(arrivals, (pauses) => {
      const limit = createRateLimiter(LIMIT)
      let now = 0
      let waits = 0
      for (const pause of pauses) {
        now += pause
        if (limit.take('a', at(now)) === 0) waits += 1
      }
      expect(waits).toBeLessThanOrEqual(LIMIT.burst + (now / 1000) * LIMIT.rate + 1e-6)
    }),
  )
})

test('a clock that goes back gives no caller anything', () => {
  const limit = createRateLimiter({ rate: 1, burst: 1 })
  expect(limit.take('a', at(10_000))).toBe(0)
  expect(limit.take('a', at(0))).toBe(1_000)
  expect(limit.take('a', at(10_000))).toBe(1_000)
})
