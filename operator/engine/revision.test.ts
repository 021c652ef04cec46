import { expect, it } from 'vitest'
import { isAtLeast } from './revision.ts'

it.each([
  ['7', '7', true],
  ['8', '7', true],
  ['10', '9', true],
  ['9', '10', false],
  ['99999999999999999999', '99999999999999999998', true],
  ['abc', 'abc', true],
  ['abd', 'abc', false],
  ['8', 'abc', false],
  ['08', '7', false],
])('having seen %s, %s is seen: %s', (seen, written, expected) => {
  expect(isAtLeast(seen, written)).toBe(expected)
})
