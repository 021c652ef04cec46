import { expect, test } from 'vitest'
import { parseUidRange } from './values.ts'

test('both ends are in the range', () => {
  expect(parseUidRange('5000-5010')).toEqual({ first: 5000, last: 5010 })
})

test.for(['0-10', '999-2000', '5000', '5000-5000', '6000-5000', '-1-5', '5000-4294967295', '5000-99999999999'])(
  '%s is no range of accounts',
  (text) => {
    expect(() => parseUidRange(text)).toThrow('is no range of accounts: write FIRST-LAST')
  },
)
