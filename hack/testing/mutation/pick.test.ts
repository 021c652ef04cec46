import { expect, test } from 'vitest'
import { pick } from './pick.ts'

const hundred = Array.from({ length: 100 }, (_, number) => number)

test('as many as asked for are picked, each once, from all over the list', () => {
  const picked = pick(hundred, 10, 1)
  expect(new Set(picked).size).toBe(10)
  expect(picked.map((number) => Math.floor(number / 10))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('the same seed picks the same, another one others', () => {
  expect(pick(hundred, 10, 1)).toEqual(pick(hundred, 10, 1))
  expect(pick(hundred, 10, 1)).not.toEqual(pick(hundred, 10, 2))
})

test('a short list is taken whole', () => {
  expect(pick([1, 2], 10, 1)).toEqual([1, 2])
})
