import { expect, test } from 'vitest'
import { citations, definedRules, isTest, prefixOf } from './spec.ts'

const rules = definedRules()
const ids = rules.map(({ id }) => id)
const cited = citations([...new Set(ids.map(prefixOf))]).filter(({ file }) => !file.startsWith('hack/testing/spec'))

test('no rule of docs/spec is defined twice', () => {
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

test('every rule that is cited is defined', () => {
  expect(cited.filter(({ id }) => !ids.includes(id)).map(({ id, file }) => `${file} cites ${id}`)).toEqual([])
})

test('every rule is cited by a test', () => {
  const tested = new Set(cited.filter(({ file }) => isTest(file)).map(({ id }) => id))
  expect(rules.filter(({ id }) => !tested.has(id)).map(({ id, page }) => `${page}: ${id}`)).toEqual([])
})
