import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CelError, CelLimitError, environment, standardFunctions, toJson } from './index.ts'

const numbers = Array.from({ length: 10_000 }, (_, index) => index)
const long = 'ab'.repeat(500_000)
const { compile } = environment({ variables: { numbers: 'dyn', long: 'dyn', data: 'dyn', text: 'string' } })

const outcome = (expression: string, values: Record<string, unknown>): unknown => {
  try {
    return compile(expression).evaluate(values)
  } catch (error) {
    return error
  }
}

describe('a hostile expression is ended by its own steps, before others notice', () => {
  test.each([
    'numbers.map(a, numbers.map(b, numbers.map(c, a * b * c)))',
    'numbers.all(a, numbers.all(b, numbers.all(c, c >= 0)))',
    'numbers.exists(a, numbers.exists(b, numbers.exists(c, c < 0)))',
    'numbers.filter(a, numbers.filter(b, b == a).size() == 1)',
    'numbers.map(a, numbers).map(l, l == numbers.map(x, x))',
    'numbers.map(a, numbers.map(b, b)) in [[numbers]]',
    'numbers.map(a, long.contains("c"))',
    'numbers.map(a, long == long + "")',
    'numbers.map(a, long.matches("(a|b)*c"))',
    'numbers.map(a, numbers + numbers.slice(0, 0))',
    'numbers.map(a, bytes(long) + b"")',
    'long.matches("((a|b?){20}){20}c")',
    'numbers.map(a, long.replace("a", "b"))',
    'long.replace("", long)',
    'numbers.map(a, long).join(long)',
    'numbers.map(a, long.split(""))',
    'numbers.map(a, numbers.sort())',
    'numbers.map(a, [a]).distinct()',
    'numbers.map(a, "%s".format([numbers]))',
    'numbers.map(a, timestamp("2024-01-01T00:00:00Z").getHours("Europe/Berlin"))',
    'numbers.map(a, lists.range(10000)).flatten()',
    'numbers.map(a, numbers.map(b, long))',
    '[[1, 2].map(a, long), [long, long]]',
  ])('%s', (expression) => {
    expect(outcome(expression, { numbers, long })).toBeInstanceOf(CelLimitError)
  })

  test('no || and no exists() hides that a limit was met', () => {
    const endless = 'numbers.all(a, numbers.all(b, numbers.all(c, true)))'
    for (const expression of [
      `${endless} || true`,
      `true && (${endless} || true)`,
      `numbers.exists(x, ${endless} || x == 3)`,
    ]) {
      expect(outcome(expression, { numbers }), expression).toBeInstanceOf(CelLimitError)
    }
  })
})

describe('whatever the text and the values', () => {
  const pieces = fc.constantFrom(
    'data',
    'text',
    'numbers',
    '.a',
    '.?a',
    '["a"]',
    '[?0]',
    '[0]',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '?',
    ' + ',
    ' - ',
    ' * ',
    ' / ',
    ' % ',
    ' == ',
    ' != ',
    ' < ',
    ' in ',
    ' && ',
    ' || ',
    '!',
    '-',
    '1',
    '-1',
    '1u',
    '2.5',
    '"s"',
    "b'x'",
    'null',
    'true',
    'x',
    '.map(x, x)',
    '.filter(x, x == 1)',
    '.exists(x, x)',
    '.all(x, x)',
    '.orValue(1)',
    '.optMap(x, x)',
    '.sortBy(x, x)',
    'has(data.a)',
    'has(',
    'size(',
    'type(',
    'dyn(',
    'int(',
    'string(',
    'timestamp(',
    'duration("1s")',
    'optional.of(',
    'cel.bind(x, 1, x)',
    '.matches("a")',
    '.format([1])',
    '.join()',
    '.constructor',
    '.__proto__',
    'lists.range(3)',
    'strings.quote("a")',
    'google.protobuf',
    '\\',
    '\u0000',
    'é',
    '//',
    '"',
  )
  const soup = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''))

  test('an expression gives a value that is JSON, or an error of its own', () => {
    fc.assert(
      fc.property(fc.oneof(soup, fc.string()), fc.jsonValue(), fc.string(), (expression, data, text) => {
        const result = outcome(expression, { data, text, numbers: [1, 2] })
        if (result instanceof CelError) return
        expect(result).not.toBeInstanceOf(Error)
        JSON.stringify(toJson(result))
      }),
      { numRuns: 1_500 },
    )
  })

  test('every function bears every value: it gives one, or an error of the expression', () => {
    const values = [
      'data',
      'text',
      'null',
      '1',
      '-1',
      '9223372036854775807',
      '1u',
      '1.5',
      '-1.0/0.0',
      'true',
      'b"x"',
      '[]',
      '[1]',
      '["a"]',
      '{}',
      '{"a": 1}',
      'type(1)',
      'optional.none()',
      'timestamp(0)',
      'duration("1s")',
      '""',
    ]
    const calls = standardFunctions.flatMap(({ signature }) => {
      const [, receiver, name = '', parameters = ''] = /^(?:([\w.<>]+)\.)?(\w+)\(([^)]*)\)/.exec(signature) ?? []
      const count = parameters === '' ? 0 : parameters.split(',').length
      return [{ receiver, name, count }]
    })
    fc.assert(
      fc.property(
        fc.constantFrom(...calls),
        fc.array(fc.constantFrom(...values), { minLength: 4, maxLength: 4 }),
        (call, picked) => {
          const args = picked.slice(1, 1 + call.count).map((value) => `dyn(${value})`)
          const spaces: Readonly<Record<string, string>> = {
            StringsNamespace: 'strings',
            ListsNamespace: 'lists',
            OptionalNamespace: 'optional',
          }
          const receiver = call.receiver === undefined ? '' : `${spaces[call.receiver] ?? `dyn(${picked[0]})`}.`
          const expression = `${receiver}${call.name}(${args.join(', ')})`
          const result = outcome(expression, { data: { a: 1 }, text: 'Ab 1' })
          expect(!(result instanceof Error) || result instanceof CelError, `${expression}: ${String(result)}`).toBe(
            true,
          )
        },
      ),
      { numRuns: 1_500 },
    )
  })

  test('any JSON comes through an evaluation as it was', () => {
    const identity = environment({ variables: { data: 'dyn' } }).compile('data')
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (data) => {
        // JSON has no -0.
        const value: unknown = JSON.parse(JSON.stringify(data))
        expect(JSON.stringify(toJson(identity.evaluate({ data: value })))).toBe(JSON.stringify(value))
      }),
    )
  })
})
