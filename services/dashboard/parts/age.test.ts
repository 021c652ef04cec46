import { expect, test } from 'vitest'
import { age, ageOf } from './age.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const before = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000)

test('ages are coarse, so that a page changes at most once a minute because of them', () => {
  const seconds = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 8_640_000]
  expect(seconds.map((passed) => ageOf(before(passed), NOW))).toEqual([
    '<1m',
    '<1m',
    '1m',
    '59m',
    '1h',
    '23h',
    '1d',
    '100d',
  ])
})

test('what lies ahead is said so; clocks that differ by less than a minute are not', () => {
  expect(ageOf(before(-30), NOW)).toBe('<1m')
  expect(ageOf(before(-600), NOW)).toBe('in 10m')
})

test('an unknown time, or a text that is none: a dash', () => {
  for (const at of [undefined, 'yesterday']) expect(age(at, NOW).html).toContain('–')
})
