import { expect, test } from 'vitest'
import { labelKeys } from './values.ts'

test.each([
  ['site,tier', ['site', 'tier']],
  ['example.com/role, self.example.com/', ['example.com/role', 'self.example.com/']],
  ['*', ['*']],
  ['', []],
])('keys of labels: %j', (text, keys) => {
  expect(labelKeys('*')(text)).toEqual(keys)
})

test.each([
  ['site=north', '"site=north" is no key of a label: write the key alone, site'],
  ['site;tier', '"site;tier" is no key of a label: write keys such as site or example.com/site'],
  ['foo bar', '"foo bar" is no key of a label: write keys such as site or example.com/site'],
  ['*', '"*" is no key of a label: write keys such as site or example.com/site'],
])('%j would match no label', (text, said) => {
  expect(() => labelKeys()(text)).toThrow(new Error(said))
})
