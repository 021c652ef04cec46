import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../problems/problem.ts'
import { parseSearch } from './parse.ts'

const label = (key: string, value: string) => ({ type: 'label', key, test: { operator: '=', value } })

test('and binds tighter than or, not tighter than both, parentheses tightest', () => {
  expect(parseSearch("labels.a='1' or labels.b='2' and not labels.c='3'")).toEqual({
    type: 'or',
    operands: [
      label('a', '1'),
      { type: 'and', operands: [label('b', '2'), { type: 'not', operand: label('c', '3') }] },
    ],
  })
  expect(parseSearch("(labels.a='1' OR labels.b='2') AND labels.c='3'")).toMatchObject({ type: 'and' })
})

test.each([
  ["labels.cluster-type = 'a'", label('cluster-type', 'a')],
  ['labels.example.com/role=`b`', label('example.com/role', 'b')],
  ["labels.a='it\\'s'", label('a', "it's")],
  ['name == "x"', { type: 'column', column: 'name', test: { operator: '=', value: 'x' } }],
  ["name <> 'x'", { type: 'column', column: 'name', test: { operator: '!=', value: 'x' } }],
  ["labels.a in ['x', 'y']", { type: 'label', key: 'a', test: { operator: 'in', values: ['x', 'y'] } }],
  [
    "labels.a not in ['x']",
    { type: 'not', operand: { type: 'label', key: 'a', test: { operator: 'in', values: ['x'] } } },
  ],
  ["status.conditions.Ready='True'", { type: 'condition', condition: 'Ready', status: 'True' }],
  ["status.conditions.Ready='Unknown'", { type: 'or', operands: [] }],
  [
    "status.conditions.Ready.last_updated_time <= '2026-01-01T00:00:00+01:00'",
    {
      type: 'conditionTime',
      condition: 'Ready',
      column: 'last_updated_time',
      operator: '<=',
      time: '2025-12-31T23:00:00.000000Z',
    },
  ],
  [
    'status.conditions.Ready.observed_generation < 5',
    { type: 'conditionGeneration', condition: 'Ready', operator: '<', generation: 5 },
  ],
])('%s', (text, tree) => {
  expect(parseSearch(text)).toEqual(tree)
})

describe('refuses, pointing at the place,', () => {
  test.each([
    ['', 'expected a name such as labels.region at character 1, but there is the end'],
    ['name', 'expected a comparison such as = at character 5, but there is the end'],
    ["name = 'a' name", 'expected and, or, or the end at character 12, but there is "name"'],
    ["name in ('a')", "expected a list such as ['a', 'b'] at character 9, but there is \"(\""],
    ['name in []', 'expected a value such as'],
    ["(name='a'", 'expected ) at character 10, but there is the end'],
    ["name='a", 'can\'t read "\'a" at character 6'],
    ["spec.a='b'", "spec.a can't be searched here"],
    ["labels.a < 'b'", 'labels.a can be compared by =, != and in only'],
    ["status.conditions.Ready!='True'", 'can only be compared by ='],
    ["status.conditions.Ready='true'", 'can only be compared by ='],
    ["status.conditions.Ready.created_time='x'", 'is none of status.conditions.Ready.{'],
    ["status.conditions.Ready.last_updated_time>'yesterday'", 'takes an RFC 3339 time'],
    ["status.conditions.Ready.observed_generation>'1'", 'takes a whole number'],
    ["name='a\0'", 'NUL'],
    ['('.repeat(60), 'nested deeper than 50 levels'],
    ['x'.repeat(5000), 'at most 4096 characters'],
  ])('%j', (text, message) => {
    expect(() => parseSearch(text)).toThrow(message)
  })
})

test('never fails in another way than by a problem, whatever it is given', () => {
  const word = fc.constantFrom(
    'labels.a',
    'name',
    'and',
    'or',
    'not',
    'in',
    '(',
    ')',
    '[',
    ']',
    ',',
    '=',
    '<',
    "'x'",
    '5',
    'status.conditions.Ready',
    "'",
    '\\',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
  )
  fc.assert(
    fc.property(text, (search) => {
      try {
        parseSearch(search)
      } catch (error) {
        expect(error).toBeInstanceOf(Problem)
      }
    }),
    { numRuns: 2000 },
  )
})
