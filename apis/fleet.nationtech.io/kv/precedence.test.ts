import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Desired } from './payload.ts'
import { precedence } from './precedence.ts'

const made = (uid: string, created: string, revision: number) => ({ owner: { uid, created }, revision })
const FIRST = '2026-01-01T00:00:00Z'
const LATER = '2026-01-02T00:00:00Z'

// FLEET-22
test('a later revision follows an earlier one, never the other way round', () => {
  expect(precedence(made('a', FIRST, 4), made('a', FIRST, 3))).toBe('Newer')
  expect(precedence(made('a', FIRST, 3), made('a', FIRST, 4))).toBe('Older')
  expect(precedence(made('a', FIRST, 3), made('a', FIRST, 3))).toBe('Same')
})

// FLEET-26
test('cr_deleted_and_recreated_same_name: the one that was made later wins with its first revision', () => {
  expect(precedence(made('b', LATER, 1), made('a', FIRST, 9))).toBe('Newer')
  expect(precedence(made('a', FIRST, 9), made('b', LATER, 1))).toBe('Older')
})

test('any two operators agree on which of two is newer', () => {
  const one = fc.record({
    owner: fc.record({ uid: fc.constantFrom('a', 'b', 'c'), created: fc.constantFrom(FIRST, LATER) }),
    revision: fc.integer({ min: 1, max: 3 }),
  })
  const opposite = { Same: 'Same', Newer: 'Older', Older: 'Newer' }
  fc.assert(
    fc.property(one, one, (a, b) => {
      expect(precedence(b, a)).toBe(opposite[precedence(a, b)])
    }),
  )
})

test('of one revision, what was filled in with the later Device is newer, as long as versions are numbers', () => {
  const filled = (version: string) => ({ ...made('a', FIRST, 3), filled: { device: version } as Desired['filled'] })
  expect(precedence(filled('10'), filled('9'))).toBe('Newer')
  expect(precedence(filled('9'), filled('10'))).toBe('Older')
  expect(precedence(filled('9'), filled('9'))).toBe('Same')
  for (const other of [filled('x9'), made('a', FIRST, 3)]) {
    expect(precedence(other, filled('10'))).toBe('Same')
    expect(precedence(filled('10'), other)).toBe('Same')
  }
})
