import { expect, test } from 'vitest'
import { parseFieldPath } from '../../task/compile/field-path.ts'
import type { Json, Operator } from '../../task/task.ts'
import { explainUnmet } from './condition-operators.ts'

const scope = { n: 5, text: 'abc', digits: '7', list: ['a', 1], object: { key: null }, nothing: null }

test.for<[string, Operator, Json | undefined, boolean]>([
  ['n', 'equals', 5, true],
  ['n', 'equals', '5', false],
  ['n', 'notEquals', 6, true],
  ['n', 'greaterThan', 4, true],
  ['n', 'greaterThan', 5, false],
  ['n', 'greaterThanOrEqual', 5, true],
  ['digits', 'lessThan', 8, true],
  ['digits', 'lessThanOrEqual', '7', true],
  ['text', 'lessThan', 8, false],
  ['text', 'in', ['abc', 'd'], true],
  ['text', 'notIn', ['abc'], false],
  ['text', 'contains', 'b', true],
  ['list', 'contains', 1, true],
  ['object', 'contains', 'key', true],
  ['nothing', 'exists', undefined, false],
  ['object.key', 'notExists', undefined, true],
  ['object.other.deep', 'exists', undefined, false],
  ['nothing', 'equals', null, true],
  ['nothing', 'greaterThan', 0, false],
])('ADAPTER-61: %s %s %j: %s', ([field, operator, value, holds]) => {
  expect(explainUnmet({ field: parseFieldPath(field), operator, value }, scope) === undefined).toBe(holds)
})

test('what is not met is told with what is there', () => {
  expect(explainUnmet({ field: parseFieldPath('n'), operator: 'greaterThan', value: 30 }, scope)).toBe(
    'n greaterThan 30 (actual: 5)',
  )
  expect(explainUnmet({ field: parseFieldPath('a.b'), operator: 'exists', value: undefined }, scope)).toBe(
    'a.b exists (actual: none)',
  )
})

test('paths as kubectl writes them', () => {
  const conditions = {
    items: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False' },
    ],
  }
  expect(parseFieldPath('{.items[?(@.type=="Ready")].status}').take(conditions, {})).toBe('True')
  expect(parseFieldPath('{.items[*].type}').take(conditions, {})).toEqual(['Ready', 'Other'])
  expect(parseFieldPath('items.1.type').take(conditions, {})).toBe('Other')
  expect(parseFieldPath('{.items[?(@.type=="None")].status}').take(conditions, {})).toBeUndefined()
  expect(() => parseFieldPath('a[')).toThrow(/is no path/)
})
