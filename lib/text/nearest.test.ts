import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const CHOICES = ['sentinel', 'adapter', 'clusterpool', 'clusterclaim']

test.each([
  ['sentinal', 'sentinel'],
  ['Sentinel', 'sentinel'],
  ['sentienl', 'sentinel'],
  ['adaptor', 'adapter'],
  ['clusterpools', 'clusterpool'],
])('%s was meant to be %s', (text, choice) => {
  expect(nearest(text, CHOICES)).toBe(choice)
})

test.each(['fleet', '', 'x', 'x'.repeat(10_000)])('nothing is near %.20s', (text) => {
  expect(nearest(text, CHOICES)).toBeUndefined()
})

test('of two equally near choices the first is named', () => {
  expect(nearest('cat', ['bat', 'rat'])).toBe('bat')
})

test('two letters that have changed places are one change, and only when both are there', () => {
  expect(nearest('ba', ['ab'])).toBe('ab')
  expect(nearest('xyba', ['xyab', 'xbya'])).toBe('xyab')
  expect(nearest('ca', ['ab'])).toBeUndefined()
  expect(nearest('bc', ['ab'])).toBeUndefined()
})

test('what is written right is never taken for two letters in the wrong order', () => {
  expect(nearest('ab', ['ba', 'ab'])).toBe('ab')
  expect(nearest('ab', ['ab', 'ba'])).toBe('ab')
})
