import fc from 'fast-check'
import { expect, test } from 'vitest'
import { selectors } from './selector.arbitrary.ts'
import { formatSelector, selectorOf } from './selector.ts'
import { parseSelector } from './selector-syntax.ts'

test.each([
  ['', ''],
  ['   ', ''],
  ['a=b', 'a=b'],
  ['a==b', 'a=b'],
  [' a = b , c != d ', 'a=b,c!=d'],
  ['a=', 'a='],
  ['a!=', 'a!='],
  ['a=,b', 'a=,b'],
  ['a in (x, y),b notin (z)', 'a in (x,y),b!=z'],
  ['a in (,x)', 'a in (,x)'],
  ['a in (,)', 'a='],
  ['a in (in,notin)', 'a in (in,notin)'],
  ['a in ()', 'a='],
  ['a notin ()', 'a!='],
  ['in', 'in'],
  ['!notin', '!notin'],
  ['in in (x),notin notin (y),b in (in)', 'b=in,in=x,notin!=y'],
  ['a=in', 'a=in'],
  ['b,a', 'a,b'],
  ['a,a', 'a'],
  ['!a', '!a'],
  ['! a', '!a'],
  ['example.com/a-b_c.d=E1', 'example.com/a-b_c.d=E1'],
  ['a=b,a=c', 'a=b,a=c'],
])('%j reads as %j', (text, canonical) => {
  expect(formatSelector(parseSelector(text))).toBe(canonical)
})

test.each([
  ['a=b,', 'the end at character 5: write a label key there'],
  [',a', '"," at character 1: write a label key there'],
  ['a b', `"b" at character 3: write '=', '==', '!=', 'in', 'notin' or ',' there`],
  ['a in b', `"b" at character 6: write '(' there`],
  ['a in (b', `the end at character 8: write ',' or ')' there`],
  ['a in (b c)', `"c" at character 9: write ',' or ')' there`],
  ['!a=b', `"=" at character 3: write ',' there`],
  ['!!a', '"!" at character 2: write a label key there'],
  ['a=b)', `")" at character 4: write ',' there`],
  ['a>1', 'has the label key "a>1"'],
  ['a=b=c', `"=" at character 4: write ',' there`],
  ["region='x'", `has the label value "'x'"`],
])('%j is refused: %s', (text, message) => {
  expect(() => parseSelector(text)).toThrow(message)
})

test('the text of any selector reads back as the same selector', () => {
  fc.assert(
    fc.property(selectors, (spec) => {
      const selector = selectorOf(spec)
      expect(parseSelector(formatSelector(selector))).toEqual(selector)
    }),
  )
})
