import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pollInterval, quotaPollInterval } from './service-polls.ts'

test.each([
  [0, 2_000],
  [20_000, 2_000],
  [60_000, 6_000],
  [3_600_000, 30_000],
])('ADAPTER-102: what has been in the making for %i ms is asked for after %i ms', (elapsed, interval) => {
  expect(pollInterval(elapsed)).toBe(interval)
})

test('ADAPTER-102: the end of what takes longer than 20 s is seen at most a tenth late, and never more than half a minute', () => {
  fc.assert(
    fc.property(fc.integer({ min: 20_000, max: 10_000_000 }), (elapsed) => {
      expect(pollInterval(elapsed)).toBeLessThanOrEqual(elapsed / 10)
      expect(pollInterval(elapsed)).toBeLessThanOrEqual(30_000)
    }),
  )
})

test('CLUSTER-22: what a quota refuses is asked for less and less often, and not all at the same time', () => {
  const exact = [1, 2, 3, 50].map((refusals) => quotaPollInterval(refusals, 0.5))
  expect(exact).toEqual([2_000, 4_000, 8_000, 300_000])
  expect([quotaPollInterval(50, 0), quotaPollInterval(50, 1)]).toEqual([240_000, 360_000])
})
