import { expect, test } from 'vitest'
import { LogSampler } from './log-sampler.ts'

test('SENTINEL-40: the first ten lines of a minute are written, then each hundredth, and none is left uncounted', () => {
  const sampler = new LogSampler()
  const lines = Array.from({ length: 250 }, () => sampler.next(0)).filter((omitted) => omitted !== undefined)
  expect(lines).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 89, 99])
  expect(sampler.next(60_000)).toBe(50)
  expect(sampler.next(60_001)).toBe(0)
})
