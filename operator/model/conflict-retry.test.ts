import { expect, test } from 'vitest'
import { countConflict, forgetConflicts } from './conflict-retry.ts'

// POOL-65
test('the wait grows while every pass loses, up to a minute, and begins anew with one that does not', () => {
  const memo = new Map<string, unknown>()
  const waits = Array.from({ length: 8 }, () => countConflict(memo))
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  forgetConflicts(memo)
  expect(countConflict(memo)).toBe(1_000)
})
