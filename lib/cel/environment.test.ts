import { expect, test } from 'vitest'
import { CelCompileError, CelEvaluationError, CelLimitError, environment } from './index.ts'

const cluster = { generation: 3, deleted_time: null, labels: { region: 'us-east' }, ratio: 0.5, items: [1, 2.5] }
const { compile } = environment({
  variables: { cluster: 'dyn', replicas: 'int', big: 'list<int>' },
  nullIsAbsent: true,
})
const value = (expression: string, values: Record<string, unknown> = { cluster }): unknown =>
  compile(expression).evaluate(values)

const failure = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

test('integral JSON numbers are ints, so arithmetic with literals works, and come back as numbers', () => {
  expect(value('cluster.generation + 1')).toBe(4)
  expect(value('cluster.ratio * 2.0')).toBe(1)
  expect(value('9007199254740993')).toBe(9007199254740993n)
  expect(value('cluster')).toEqual(cluster)
})

test('a null entry is absent for has() and .?, and null for a plain access', () => {
  expect(value('has(cluster.deleted_time)')).toBe(false)
  expect(value('cluster.?deleted_time.hasValue()')).toBe(false)
  expect(value('cluster.deleted_time == null')).toBe(true)
  const strict = environment({ variables: { cluster: 'dyn' } })
  expect(strict.compile('has(cluster.deleted_time)').evaluate({ cluster })).toBe(true)
  expect(strict.compile('cluster.?deleted_time.hasValue()').evaluate({ cluster })).toBe(true)
})

test('optional accesses give the default wherever the path ends', () => {
  expect(value('cluster.?labels.?region.orValue("none")')).toBe('us-east')
  expect(value('cluster.?spec.?region.orValue("none")')).toBe('none')
  expect(value('cluster.?spec.region.hasValue()')).toBe(false)
  expect(value('cluster.items[?7].orValue(9)')).toBe(9)
})

test.each([
  ['1 +', 'UnexpectedToken', 'line 1, column 4'],
  ['cluter.generation', 'UnknownVariable', 'there is no variable cluter: did you mean cluster?'],
  ['siz(cluster)', 'UnknownFunction', 'there is no function siz: did you mean size?'],
  ['matches__own("a", "a")', 'NoMatchingOverload', 'there is no function of this name'],
  ['true &&\n  replicas + "a"', 'NoSuchOverload', 'int + string at line 2, column 3'],
  ['has(cluster)', 'InvalidMacroArgument', 'write has(a.b)'],
  [`${'!'.repeat(16_000)}true`, 'TooDeep', 'part it'],
  // What fits on any stack.
  [`1${'+1'.repeat(6_000)}`, 'TooDeep', 'part it'],
  [`1${'+1'.repeat(9_000)}`, 'TooLong', '16384'],
])('%.30s does not compile: %s', (expression, reason, message) => {
  const error = failure(() => compile(expression))
  expect(error).toBeInstanceOf(CelCompileError)
  expect(error).toMatchObject({ reason, message: expect.stringContaining(message) })
})

test('a result of another type than needed is found before it runs', () => {
  expect(failure(() => compile('replicas', { result: 'bool' }))).toMatchObject({ reason: 'WrongResult' })
  expect(compile('replicas > 1', { result: 'bool' }).type).toBe('bool')
})

test.each([
  ['cluster.labells', 'NoSuchKey', 'did you mean "labels"?'],
  ['cluster.items[2]', 'IndexOutOfBounds', 'index 2 is outside of a list of 2'],
  ['has(cluster.missing.x)', 'NoSuchKey', 'no such key: missing'],
  ['cluster.generation / 0', 'DivisionByZero', 'division by zero'],
  ['9223372036854775807 + cluster.generation', 'NumericOverflow', 'overflow'],
  ['-(-9223372036854775807 - 1)', 'NumericOverflow', 'overflow'],
  ['cluster.labels.region.matches("(")', 'InvalidRegularExpression', 'no RE2 pattern'],
  ['replicas > 1', 'UnknownVariable', 'replicas'],
])('%s is an error when it runs: %s', (expression, reason, message) => {
  const error = failure(() => value(expression))
  expect(error).toBeInstanceOf(CelEvaluationError)
  expect(error).toMatchObject({ reason, message: expect.stringContaining(message) })
})

const big = Array.from({ length: 10_000 }, (_, index) => index)

test.each([
  ['big.map(x, big.map(y, big.map(z, z)))', 'LimitSteps'],
  ['big.all(x, big.all(y, big.exists(z, z < 0) || true))', 'LimitSteps'],
  ['big.map(x, big.map(y, y)) == big.map(x, big.map(y, y))', 'LimitSteps'],
  ['big.exists(x, big.map(y, y) == big.map(y, y) && false)', 'LimitSteps'],
  ['big.all(x, [big, big, big, big] == [[1], [2]] || x in big)', 'LimitSteps'],
  ['big + big', 'LimitElements'],
  ['big.map(x, "0123456789")', undefined],
  ['big.map(x, "0123456789".matches("^([0-9]+)+$"))', undefined],
])('%s stays within its limits', (expression, reason) => {
  const error = failure(() => value(expression, { big }))
  if (reason === undefined) expect(error).toHaveLength(big.length)
  else expect(error).toMatchObject({ name: 'CelLimitError', reason })
})

test('text cannot be doubled without end', () => {
  const doubling = Array.from({ length: 24 }, (_, i) => `cel.bind(v${i + 1}, v${i} + v${i}, `).join('')
  const error = failure(() => value(`cel.bind(v0, "0123456789", ${doubling}v24${')'.repeat(25)}`))
  expect(error).toMatchObject({ name: 'CelLimitError', reason: 'LimitText' })
})

test('a result larger than the limit is refused, however little memory it takes inside', () => {
  const texts = environment({ variables: { texts: 'dyn' } }).compile('[texts, texts]')
  expect(failure(() => texts.evaluate({ texts: big.map(() => 'x'.repeat(100)) }))).toMatchObject({
    reason: 'LimitResult',
  })
})

test('a stopped evaluation leaves the environment as it was', () => {
  expect(failure(() => value('big.map(x, big.map(y, big))', { big }))).toBeInstanceOf(CelLimitError)
  expect(value('cluster.generation')).toBe(3)
})

test('an evaluation that takes longer than its time is stopped by the clock', () => {
  let time = 0
  const slow = environment({ variables: { big: 'dyn' }, monotonic: () => (time += 1_000) })
  const error = failure(() => slow.compile('big.map(x, x)').evaluate({ big }))
  expect(error).toMatchObject({ name: 'CelLimitError', reason: 'LimitTime' })
})

test('matches takes linear time where backtracking takes seconds', () => {
  expect(value(`"${'a'.repeat(5_000)}!".matches("^(a+)+$")`)).toBe(false)
})

test.each([
  [{ cluster: Symbol('x') }, 'of type symbol'],
  [{ cluster: { call: () => 1 } }, 'cluster.call is of type function'],
  [{ cluster: [new Set()] }, 'cluster[0] is an object of class Set'],
  [{ cluster: new Date(Number.NaN) }, 'invalid Date'],
])('a value that CEL has no type for is named', (values, message) => {
  expect(failure(() => value('cluster', values))).toMatchObject({
    reason: 'InvalidInput',
    message: expect.stringContaining(message),
  })
})

test('keys that JavaScript holds for special are ordinary, and nothing inherited is reachable', () => {
  const odd = JSON.parse('{"__proto__": 1, "constructor": "c", "prototype": true}')
  expect(value('cluster["__proto__"] + 1', { cluster: odd })).toBe(2)
  expect(value('cluster.constructor', { cluster: odd })).toBe('c')
  expect(JSON.stringify(value('cluster', { cluster: odd }))).toBe(JSON.stringify(odd))
  for (const key of ['constructor', 'toString', 'size', 'get', '__proto__', 'prototype']) {
    expect(
      failure(() => value(`cluster["${key}"]`)),
      key,
    ).toMatchObject({ reason: 'NoSuchKey' })
  }
})

test.each([
  ['[3, 1, 2, 3].distinct()', [3, 1, 2]],
  ['[1, 1.0, "1"].distinct()', [1, '1']],
  ['[{"n": 2, "k": "b"}, {"n": 1, "k": "a"}].sortBy(x, x.n).map(x, x.k)', ['a', 'b']],
  ['[3, 1, 2].sort()', [1, 2, 3]],
  ['[[1, [2]], [3]].flatten()', [1, [2], 3]],
  ['[[1, [2]], [3]].flatten(2)', [1, 2, 3]],
  ['[1, 2, 3, 4].slice(1, 3)', [2, 3]],
  ['[1, 2].reverse()', [2, 1]],
  ['lists.range(3)', [0, 1, 2]],
  ['[1, 2].last().value() + [].first().orValue(5)', 7],
  ['"gnirts".reverse()', 'string'],
  ['cluster.?labels.optMap(x, x.region).orValue("none")', 'us-east'],
  ['cluster.?nope.optMap(x, x.region).orValue("none")', 'none'],
  ['timestamp("2024-02-29T12:00:00Z").getHours("America/New_York")', 7],
])('%s is %j', (expression, expected) => {
  expect(value(expression)).toEqual(expected)
})

test.each([
  '[1, "a"].sort()',
  '[1, 2].slice(1, 5)',
  'lists.range(100000)',
  'timestamp("2024-02-30T12:00:00Z")',
  'timestamp("soon")',
  'duration("1 hour")',
  'timestamp("2024-02-29T12:00:00Z").getHours("Mars/Olympus")',
  '"%d".format(["a"])',
  '"%".format([1])',
])('%s is refused with an error of the expression', (expression) => {
  expect(failure(() => value(expression))).toBeInstanceOf(CelEvaluationError)
})

test.each(['strings', 'lists', 'cel', 'optional', 'google', 'in', 'true', 'for', 'a.b', 'a-b', ''])(
  'a variable can not be named %j',
  (name) => {
    const error = failure(() => environment({ variables: { [name]: 'dyn' } }))
    expect(error).toBeInstanceOf(CelCompileError)
    expect(error).toMatchObject({ reason: 'TakenName', message: expect.stringContaining('choose another name') })
  },
)
