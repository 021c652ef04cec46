import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { printSearch } from '#test/integration/hyperfleet-api/search/print.ts'
import { searches } from '#test/integration/hyperfleet-api/search/trees.ts'
import { Problem } from '../problems/problem.ts'
import { parseSearch } from './parse-search.ts'
import type { Operand, Search, Test } from './search-tree.ts'

const tested = (operand: Operand, test: Test): Search => ({ type: 'test', operand, test })
const label = (key: string, value: string) => tested({ type: 'label', key }, { operator: '=', value })
const named = (test: Test) => tested({ type: 'column', column: 'name' }, test)
const spec = (path: string[], test: Test) => tested({ type: 'spec', path }, test)
const condition = (part: 'status' | 'last_updated_time' | 'observed_generation', test: Test) =>
  tested({ type: 'condition', condition: 'Ready', part }, test)
const created = (test: Test) => tested({ type: 'column', column: 'created_time' }, test)
const not = (operand: Search): Search => ({ type: 'not', operand })

test('and binds tighter than or, not tighter than both, parentheses tightest', () => {
  expect(parseSearch("labels.a='1' or labels.b='2' and not labels.c='3'")).toEqual({
    type: 'or',
    operands: [label('a', '1'), { type: 'and', operands: [label('b', '2'), not(label('c', '3'))] }],
  })
  expect(parseSearch("(labels.a='1' OR labels.b='2') AND labels.c='3'")).toMatchObject({ type: 'and' })
})

describe('reads', () => {
  test.each<[string, Search]>([
    ["labels.cluster-type = 'a'", label('cluster-type', 'a')],
    ['labels.example.com/role=`b`', label('example.com/role', 'b')],
    ['labels[\'example.com/role\']="b"', label('example.com/role', 'b')],
    ["labels.a='it\\'s'", label('a', "it's")],
    ["labels.a='it''s'", label('a', "it's")],
    ['labels.a=\'""\'', label('a', '""')],
    ["labels.a=''", label('a', '')],
    ["labels.a='eu'and name='x'", { type: 'and', operands: [label('a', 'eu'), named({ operator: '=', value: 'x' })] }],
    ["name = 'null'", named({ operator: '=', value: 'null' })],
    ["name == 'x'", named({ operator: '=', value: 'x' })],
    ["name <> 'x'", named({ operator: '!=', value: 'x' })],
    ["name >= 'x'", named({ operator: '>=', value: 'x' })],
    ["name LIKE 'x%'", named({ operator: 'like', pattern: 'x%' })],
    ["name not ilike 'x\\\\_'", not(named({ operator: 'ilike', pattern: 'x\\_' }))],
    ["name in ['x', 'y']", named({ operator: 'in', values: ['x', 'y'] })],
    ["name in['x']", named({ operator: 'in', values: ['x'] })],
    ["name in ('x', 'y')", named({ operator: 'in', values: ['x', 'y'] })],
    ["labels.a not in ['x']", not(tested({ type: 'label', key: 'a' }, { operator: 'in', values: ['x'] }))],
    ['labels.a is null', { type: 'missing', operand: { type: 'label', key: 'a' } }],
    ['deleted_time is not null', not({ type: 'missing', operand: { type: 'column', column: 'deleted_time' } })],
    [
      'generation between 1 and 3',
      tested({ type: 'column', column: 'generation' }, { operator: 'between', low: 1, high: 3 }),
    ],
    ['created_time > 2026-01-31', created({ operator: '>', value: '2026-01-31T00:00:00.000000Z' })],
    ["created_time > '2026-01-31'", created({ operator: '>', value: '2026-01-31T00:00:00.000000Z' })],
    ['created_time > 2026-01-31T12:00:00.5+01:00', created({ operator: '>', value: '2026-01-31T11:00:00.500000Z' })],
    ["spec.region.zone-1 = 'a'", spec(['region', 'zone-1'], { operator: '=', value: 'a' })],
    ["spec['a.b'].c['it''s'] = 'a'", spec(['a.b', 'c', "it's"], { operator: '=', value: 'a' })],
    ['spec.size > 1.5e3', spec(['size'], { operator: '>', value: 1500 })],
    ['spec.size = 4Ki', spec(['size'], { operator: '=', value: 4096 })],
    ['spec.size = -2M', spec(['size'], { operator: '=', value: -2_000_000 })],
    ['spec.on = TRUE', spec(['on'], { operator: '=', value: 'true' })],
    ["status.conditions.Ready='True'", condition('status', { operator: '=', value: 'True' })],
    ["status.conditions.Ready != 'Unknown'", condition('status', { operator: '!=', value: 'Unknown' })],
    [
      "status.conditions.Ready.last_updated_time <= '2026-01-01T00:00:00+01:00'",
      condition('last_updated_time', { operator: '<=', value: '2025-12-31T23:00:00.000000Z' }),
    ],
    ['status.conditions.Ready.observed_generation < 5', condition('observed_generation', { operator: '<', value: 5 })],
  ])('%s', (text, tree) => {
    expect(parseSearch(text)).toEqual(tree)
  })
})

describe('refuses, saying where or what to write,', () => {
  test.each([
    ['', 'expected a name such as labels.region at character 1, but there is the end'],
    ['name', 'expected a comparison such as = at character 5, but there is the end'],
    ["and = 'a'", 'expected a name such as labels.region at character 1, but there is "and"'],
    ["name = 'a' name", 'expected and, or, or the end at character 12, but there is "name"'],
    ["name in 'a'", "expected a list such as ['a', 'b'] at character 9, but there is \"a\""],
    ['name in []', 'expected a value such as'],
    ["name in ['a')", 'expected , or ] at character 13'],
    ["name not = 'a'", 'expected in, like, ilike or between at character 10'],
    ['name is 5', 'expected null at character 9'],
    ['name = null', 'write is null'],
    ["(name='a'", 'expected ) at character 10, but there is the end'],
    ["name='a", 'can\'t read "\'a" at character 6; a quote is not closed'],
    ["name ~= 'a'", 'there is no ~=; write like'],
    ['len(name) > 3', "len can't be searched"],
    ["nam = 'a'", "nam can't be searched; write name"],
    ["labels = 'a'", 'write labels.<key>'],
    ["labels.a['b'] = 'c'", "write labels.<key> or labels['<key>']"],
    ["spec..a = 'b'", "write spec.<key>.<key> or spec['<key>']"],
    [`spec${'.a'.repeat(17)} = 'b'`, 'more than 16 keys'],
    ['name = 5', "name takes text in quotes, such as '5'"],
    ['labels.a = 5', "labels.a takes text in quotes, such as '5'"],
    ["generation = '1'", 'generation takes a whole number'],
    ['generation = 1.5', 'generation takes a whole number'],
    ['generation = 3G', 'generation takes a whole number up to 2147483647'],
    ["generation like '1'", "generation can't be tested by like"],
    ["created_time > 'yesterday'", 'takes an RFC 3339 time'],
    ["created_time > '2026-02-30'", 'takes an RFC 3339 time'],
    ['spec.a = 1e999', 'takes a number that fits 64 bits'],
    ["spec.a in [1, 'b']", 'by text and numbers at once'],
    ["name like 'a\\\\'", 'ends with a single backslash'],
    ["status.conditions.Ready < 'True'", "can't be tested by <; write one of =, !=, in or is null"],
    ["status.conditions.Ready='true'", "takes 'True', 'False' or 'Unknown' in quotes"],
    ["status.conditions.Ready.created_time='x'", 'is none of status.conditions.Ready'],
    ["status.conditions.Ready.observed_generation>'1'", 'takes a whole number'],
    ["name='a\0'", 'NUL'],
    ['('.repeat(60), 'nested deeper than 50 levels'],
    [Array(101).fill("id=''").join(' or '), 'more than 100 tests'],
    ['x'.repeat(5000), 'at most 4096 characters'],
    [
      `name like '${'%'.repeat(257)}'`,
      'the pattern for name has 257 characters; write at most 256, with % for the rest',
    ],
    [`spec.a not ilike '${'a'.repeat(257)}'`, 'write at most 256'],
  ])('%j', (text, message) => {
    expect(() => parseSearch(text)).toThrow(message)
    expect(() => parseSearch(text)).toThrow(Problem)
  })
})

test('any tree, printed and parsed, is the same tree', () => {
  fc.assert(
    fc.property(searches, (tree) => {
      expect(parseSearch(printSearch(tree))).toEqual(tree)
    }),
    { numRuns: 1000 },
  )
})

const words = ['labels.a', 'name', 'and', 'or', 'not', 'in', 'like', 'between', 'is', 'null', '(', ')', '[', ']', ',']
const signs = [
  '=',
  '<',
  "'x'",
  '5',
  '5Ki',
  '2026-01-01',
  'spec.a',
  'status.conditions.Ready',
  "'",
  '\\',
  '%',
  "labels['",
]

test('never fails in another way than by a problem, whatever it is given', () => {
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom(...words, ...signs), { maxLength: 30 }).map((some) => some.join(' ')),
    fc.array(fc.constantFrom(...words, ...signs), { maxLength: 30 }).map((some) => some.join('')),
  )
  fc.assert(
    fc.property(text, (search) => {
      try {
        parseSearch(search)
      } catch (error) {
        expect(error).toBeInstanceOf(Problem)
      }
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['a quote that is never closed', (n: number) => `name='${"''".repeat(n)}`],
  ['a label of dots', (n: number) => `labels${'.a'.repeat(n)}`],
  ['brackets', (n: number) => `spec${"['a']".repeat(n)}`],
  ['backslashes', (n: number) => `name='${'\\'.repeat(2 * n)}`],
  ['spaces', (n: number) => `name${' '.repeat(2 * n)}`],
])('%s up to the longest text is given up at once, not after every way to read it', (_what, make) => {
  const [one, two] = [make(1).length, make(2).length]
  expect(() => parseSearch(make(Math.floor((4096 - one) / (two - one))))).toThrow(Problem)
})
