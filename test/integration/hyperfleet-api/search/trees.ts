import fc, { type Arbitrary } from 'fast-check'
import {
  COLUMNS,
  type Operand,
  type Search,
  type SearchColumn,
  type Test,
} from '#services/hyperfleet-api/search/search-tree.ts'

/** Random searches about few things, so that random resources often fit. */

/** Text that tries quotes, patterns, other scripts and what looks like a number. */
export const texts = fc.oneof(
  fc.constantFrom(
    'eu',
    'us',
    'EU',
    'a',
    '',
    '3',
    '1e+21',
    'true',
    "it's",
    'a%b',
    '_',
    '\\',
    '[a]',
    '*',
    '?',
    'é',
    'É',
    '😀',
    '１',
  ),
  fc.string({ unit: 'grapheme', maxLength: 6 }).filter((text) => !text.includes('\0')),
)
export const numbers = fc.oneof(
  fc.constantFrom(0, 1, 2, 3, -1, 1.5, 1e21, 1e-7, 2 ** 53 - 1),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
)
export const times = fc.integer({ min: 0, max: 9 }).map((second) => `2026-01-01T00:00:0${second}.000000Z`)
export const labelKeys = fc.constantFrom('region', 'cluster-type', 'example.com/role', 'tier')
export const labelValues = fc.constantFrom('eu', 'us', 'EU', 'eu-west.1', 'a_b', '')
/** Keys below spec; `list` and `map` are lists and objects in generated resources. */
export const specKeys = fc.constantFrom('a', 'b-c', 'd.e', 'list', 'map', '0', "q'k", 'é', '__proto__x', '$', '[0]')
export const conditionTypes = fc.constantFrom('Ready', 'DnsSuccessful')

const integers = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: -(2 ** 31) + 1, max: 2 ** 31 - 1 }))
const statuses = fc.constantFrom('True', 'False', 'Unknown')
/** Without a backslash that has nothing to take literally. */
const patterns = fc
  .array(
    fc.oneof(
      fc.constantFrom('%', '_', '\\%', '\\_', '\\\\', '\\[', 'e', 'E', 'u', '[', '*', '?', 'é', ']', '^'),
      texts.map((text) => text.replaceAll('\\', '')),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(''))

const comparisons = fc.constantFrom(
  '=' as const,
  '!=' as const,
  '<' as const,
  '<=' as const,
  '>' as const,
  '>=' as const,
)

const ordered = (values: Arbitrary<string | number>): Arbitrary<Test> =>
  fc.oneof(
    fc.record({ operator: comparisons, value: values }),
    fc.record({ operator: fc.constant('in' as const), values: fc.array(values, { minLength: 1, maxLength: 3 }) }),
    fc.record({ operator: fc.constant('between' as const), low: values, high: values }),
  )
const liked: Arbitrary<Test> = fc.record({
  operator: fc.constantFrom('like' as const, 'ilike' as const),
  pattern: patterns,
})
const textTests = (values: Arbitrary<string>): Arbitrary<Test> => fc.oneof(ordered(values), liked)

const leaf = (operands: Arbitrary<Operand>, tests: Arbitrary<Test>): Arbitrary<Search> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('test' as const), operand: operands, test: tests }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('missing' as const), operand: operands }) },
  )

const columns = (type: (typeof COLUMNS)[SearchColumn]): Arbitrary<Operand> =>
  fc
    .constantFrom(...(Object.keys(COLUMNS) as SearchColumn[]).filter((column) => COLUMNS[column] === type))
    .map((column) => ({ type: 'column', column }))

const conditions = (part: 'status' | 'last_updated_time' | 'observed_generation'): Arbitrary<Operand> =>
  conditionTypes.map((condition) => ({ type: 'condition', condition, part }))

const leaves: Arbitrary<Search> = fc.oneof(
  leaf(columns('text'), textTests(fc.oneof(texts, fc.constantFrom('Cluster', 'c-1', 'c-2', '{}', 'someone')))),
  leaf(columns('integer'), ordered(integers)),
  leaf(columns('time'), ordered(times)),
  leaf(
    labelKeys.map((key) => ({ type: 'label', key })),
    textTests(fc.oneof(labelValues, texts)),
  ),
  leaf(
    fc.array(specKeys, { minLength: 1, maxLength: 3 }).map((path) => ({ type: 'spec', path })),
    fc.oneof(textTests(texts), ordered(numbers)),
  ),
  leaf(
    conditions('status'),
    fc.oneof(
      fc.record({ operator: fc.constantFrom('=' as const, '!=' as const), value: statuses }),
      fc.record({ operator: fc.constant('in' as const), values: fc.array(statuses, { minLength: 1, maxLength: 3 }) }),
    ),
  ),
  leaf(conditions('last_updated_time'), ordered(times)),
  leaf(conditions('observed_generation'), ordered(integers)),
)

/** Trees as the parser makes them: at least two operands. */
export const searches: Arbitrary<Search> = fc.letrec<{ search: Search }>((tie) => ({
  search: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: leaves },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constantFrom('and' as const, 'or' as const),
        operands: fc.array(tie('search'), { minLength: 2, maxLength: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('not' as const), operand: tie('search') }) },
  ),
})).search
