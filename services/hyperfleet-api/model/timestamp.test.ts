import fc from 'fast-check'
import { expect, test } from 'vitest'
import { momentOf, parseTimestamp, timestampOf } from './timestamp.ts'

test.each([
  ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000000Z'],
  ['2026-01-31T12:00:00.5+02:00', '2026-01-31T10:00:00.500000Z'],
  ['2026-01-31t12:00:00.123456789z', '2026-01-31T12:00:00.123456Z'],
  ['2025-12-31T23:30:00-01:00', '2026-01-01T00:30:00.000000Z'],
])('reads %s', (text, timestamp) => {
  expect(parseTimestamp(text)).toBe(timestamp)
})

test.each([
  '',
  'now',
  '2026-01-31',
  '2026-01-31 12:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00+99:00',
])('refuses %j', (text) => {
  expect(parseTimestamp(text)).toBeUndefined()
})

test('timestamps sort as the moments do, and read back as themselves', () => {
  const moment = fc.date({
    min: new Date('1970-01-01T00:00:00Z'),
    max: new Date('2999-12-31T00:00:00Z'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(moment, moment, (a, b) => {
      expect(timestampOf(a) < timestampOf(b)).toBe(a < b)
      expect(parseTimestamp(timestampOf(a))).toBe(timestampOf(a))
      expect(momentOf(timestampOf(a))).toEqual(a)
    }),
  )
})
