import { expect, test } from 'vitest'
import { median, percentile } from './statistics.ts'

test('the median of an odd sample is its middle value, whatever the order', () => {
  expect(median([9, 1, 5])).toBe(5)
})

test('the median of an even sample lies between the middle two', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
})

test('a percentile is a value of the sample, by nearest rank', () => {
  const sample = Array.from({ length: 200 }, (_, index) => index + 1)
  expect(percentile(sample, 0.5)).toBe(100)
  expect(percentile(sample, 0.99)).toBe(198)
  expect(percentile(sample, 0)).toBe(1)
  expect(percentile(sample, 1)).toBe(200)
  expect(percentile([7], 0.99)).toBe(7)
})

test('an empty sample has neither', () => {
  expect(() => median([])).toThrow(RangeError)
  expect(() => percentile([], 0.5)).toThrow(RangeError)
})
