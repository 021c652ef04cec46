import { expect, test } from 'vitest'
import { formatSelector, type LabelSelector, matches, SelectorError, selectorOf } from './selector.ts'

const select = (selector: LabelSelector, labels: Record<string, string>) => matches(selectorOf(selector), labels)
const expression = (key: string, operator: string, ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, values }],
})

test('an empty selector matches everything', () => {
  expect(select({}, {})).toBe(true)
  expect(select({ matchLabels: {}, matchExpressions: [] }, { a: 'b' })).toBe(true)
})

test('matchLabels wants the exact value of every label', () => {
  const shard = { matchLabels: { region: 'us-east', tier: 'prod' } }
  expect(select(shard, { region: 'us-east', tier: 'prod', more: 'yes' })).toBe(true)
  expect(select(shard, { region: 'us-east' })).toBe(false)
  expect(select(shard, { region: 'us-east', tier: 'dev' })).toBe(false)
})

test.each([
  ['In', ['a', 'b'], { present: true, other: false, missing: false }],
  ['NotIn', ['a', 'b'], { present: false, other: true, missing: true }],
  ['Exists', [], { present: true, other: true, missing: false }],
  ['DoesNotExist', [], { present: false, other: false, missing: true }],
])('%s holds for a listed value, another value and a missing label as in Kubernetes', (operator, values, wanted) => {
  const selector = expression('key', operator, ...values)
  expect({
    present: select(selector, { key: 'a' }),
    other: select(selector, { key: 'z' }),
    missing: select(selector, {}),
  }).toEqual(wanted)
})

test('a label that only an object prototype has is missing', () => {
  expect(select(expression('constructor', 'Exists'), {})).toBe(false)
})

test('equal selectors have one text, sorted by key and value', () => {
  const one: LabelSelector = {
    matchLabels: { region: 'us-east' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['prod', 'dev', 'prod'] },
      { key: 'example.com/old', operator: 'DoesNotExist' },
      { key: 'team', operator: 'NotIn', values: ['b', 'a'] },
      { key: 'zone', operator: 'NotIn', values: ['c'] },
      { key: 'app', operator: 'Exists' },
    ],
  }
  expect(formatSelector(selectorOf(one))).toBe(
    'app,!example.com/old,region=us-east,team notin (a,b),tier in (dev,prod),zone!=c',
  )
})

test.each<[LabelSelector, string]>([
  [{ matchLabels: { 'bad key': 'x' } }, 'matchLabels["bad key"] has the label key "bad key": write a name'],
  [{ matchLabels: { 'UPPER/key': 'x' } }, 'has the label key "UPPER/key"'],
  [{ matchLabels: { ['a'.repeat(64)]: 'x' } }, 'has the label key'],
  [{ matchLabels: { key: '-x' } }, 'matchLabels["key"] has the label value "-x": write at most 63'],
  [{ matchLabels: { key: 'x'.repeat(64) } }, 'has the label value'],
  [expression('key', 'in', 'a'), 'matchExpressions[0] has the operator "in": write In, NotIn, Exists or DoesNotExist'],
  [expression('key', 'In'), 'matchExpressions[0] has no values: In needs at least one'],
  [expression('key', 'NotIn'), 'has no values: NotIn needs at least one'],
  [expression('key', 'Exists', 'a'), 'matchExpressions[0] has values: Exists takes none'],
  [expression('key', 'DoesNotExist', 'a'), 'has values: DoesNotExist takes none'],
])('%j is refused with the place and the remedy', (selector, message) => {
  expect(() => selectorOf(selector)).toThrow(SelectorError)
  expect(() => selectorOf(selector)).toThrow(message)
})
