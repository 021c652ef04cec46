import fc from 'fast-check'
import type { LabelSelector } from './selector.ts'

/** Few keys and values, so that requirements meet on the same ones; '' and keywords are values too. */
const key = fc.constantFrom('a', 'b', 'example.com/c')
const value = fc.constantFrom('', 'x', 'y', 'z', 'in')

/** Selectors for property tests. */
export const selectors: fc.Arbitrary<LabelSelector> = fc.record({
  matchLabels: fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true }),
  matchExpressions: fc.array(
    fc.oneof(
      fc.record({
        key,
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    ),
    { maxLength: 4 },
  ),
})

/** Labels that such selectors may match. */
export const labels: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  key,
  fc.oneof(value, fc.constantFrom('any', 'other')),
  { noNullPrototype: true },
)
