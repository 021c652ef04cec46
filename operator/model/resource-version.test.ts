import { expect, it } from 'vitest'
import { isAtLeastAsNew, isLater } from './resource-version.ts'

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
  expect(isAtLeastAsNew(seen, written)).toBe(expected)
})

it.each([
  ['is later than one before it', { uid: 'a', resourceVersion: '7' }, true],
  ['is no news when it is known', { uid: 'a', resourceVersion: '8' }, false],
  ['is no news when what came after it is known', { uid: 'a', resourceVersion: '9' }, false],
  ['is none of another object of the name', { uid: 'b', resourceVersion: '7' }, false],
  ['is no news when the object is gone', undefined, false],
])('an answer %s', (_case, known, expected) => {
  const answer = { metadata: { name: 'it', uid: 'a', resourceVersion: '8' } }
  expect(isLater(answer, known && { metadata: { name: 'it', ...known } })).toBe(expected)
})
