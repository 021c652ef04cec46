import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growBackoff, spreadOf } from './growth.ts'

const backoff = { notReady: 10_000, notReadyMax: 300_000 }

// SENTINEL-37
test('the wait doubles with each fruitless pulse, up to the longest', () => {
  expect([0, 1, 2, 3, 4, 5, 99].map((fruitless) => growBackoff(backoff, fruitless, 0))).toEqual([
    10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000,
  ])
})

test('without a longest wait it is always the same', () => {
  expect(growBackoff({ notReady: 10_000 }, 7, 0.5)).toBe(10_000)
  expect(growBackoff({ ...backoff, notReadyMax: 5_000 }, 7, 0.5)).toBe(10_000)
})

test('jitter makes no wait shorter than the first, nor longer than the longest', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.nat(600_000), fc.nat(100), fc.string(), (notReady, notReadyMax, fruitless, id) => {
      const wait = growBackoff({ notReady, notReadyMax }, fruitless, spreadOf(id, fruitless))
      expect(wait).toBeGreaterThanOrEqual(notReady)
      expect(wait).toBeLessThanOrEqual(Math.max(notReady, notReadyMax))
    }),
  )
})

test('resources that failed together are spread', () => {
  const waits = Array.from({ length: 1_000 }, (_, index) => growBackoff(backoff, 4, spreadOf(`id-${index}`, 4)))
  expect(new Set(waits.map((wait) => Math.floor(wait / 8_000))).size).toBeGreaterThan(3)
})
