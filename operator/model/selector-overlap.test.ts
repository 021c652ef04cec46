import fc from 'fast-check'
import { expect, test } from 'vitest'
import { labels, selectors } from './selector.arbitrary.ts'
import { matches, selectorOf } from './selector.ts'
import { overlap } from './selector-overlap.ts'
import { parseSelector } from './selector-syntax.ts'

test.each([
  ['region=us-east', 'region=us-west', undefined],
  ['region=us-east', 'region=us-east', { region: 'us-east' }],
  ['region=us-east', 'tier=prod', { region: 'us-east', tier: 'prod' }],
  ['region in (a,b)', 'region in (b,c)', { region: 'b' }],
  ['region in (a,b)', 'region notin (a,b)', undefined],
  ['region in (a,b)', 'region notin (a)', { region: 'b' }],
  ['region notin (a)', 'region notin (b)', {}],
  ['region', '!region', undefined],
  ['region', 'region!=any', { region: 'any-0' }],
  ['region,region!=any', 'region!=any-0', { region: 'any-1' }],
  ['!region', 'region!=a', {}],
  ['', '', {}],
  ['', 'region', { region: 'any' }],
  ['region=a,region=b', '', undefined],
])('%j and %j overlap in %j', (a, b, witness) => {
  expect(overlap(parseSelector(a), parseSelector(b))).toEqual(witness)
  expect(overlap(parseSelector(b), parseSelector(a))).toEqual(witness)
})

test('a witness matches both selectors', () => {
  fc.assert(
    fc.property(selectors, selectors, (specA, specB) => {
      const [a, b] = [selectorOf(specA), selectorOf(specB)]
      const witness = overlap(a, b)
      fc.pre(witness !== undefined)
      expect(matches(a, witness)).toBe(true)
      expect(matches(b, witness)).toBe(true)
    }),
  )
})

test('labels that match both selectors are proof of an overlap', () => {
  fc.assert(
    fc.property(selectors, selectors, labels, (specA, specB, some) => {
      const [a, b] = [selectorOf(specA), selectorOf(specB)]
      fc.pre(matches(a, some) && matches(b, some))
      expect(overlap(a, b)).toBeDefined()
    }),
  )
})
