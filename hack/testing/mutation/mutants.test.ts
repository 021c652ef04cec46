import { expect, test } from 'vitest'
import { mutantsOf, mutate } from './mutants.ts'

const linesOf = (source: string): readonly string[] => mutantsOf(source).map((mutant) => mutate(source, mutant))

test('each operator and truth value has its mutant, one at a time', () => {
  expect(linesOf('const is = !a && (b) >= c')).toEqual([
    'const is = !a || (b) >= c',
    'const is = a && (b) >= c',
    'const is = !a && (b) > c',
  ])
  expect(linesOf('f(true, x ?? y)')).toEqual(['f(false, x ?? y)', 'f(true, x && y)'])
})

test('types, imports and texts put together have none', () => {
  expect(linesOf("import a from 'a'\ntype B = (x: true) => C<1>\nconst t = 'a' + b + `c`")).toEqual([])
})

test('a mutant knows its line', () => {
  expect(mutantsOf('const a = 1\nconst b = a < 2')).toMatchObject([{ line: 2, from: '<', to: '<=' }])
})
