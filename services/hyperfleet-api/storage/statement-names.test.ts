import { expect, test } from 'vitest'
import { createStatementNames } from './statement-names.ts'

test('what comes again and again gets a name, and keeps it', () => {
  const nameOf = createStatementNames()
  expect(Array.from({ length: 4 }, () => nameOf('select 1'))).toEqual([undefined, undefined, 'muster_0', 'muster_0'])
  expect(nameOf('select 2')).toBe(undefined)
})

test('different texts get different names', () => {
  const nameOf = createStatementNames()
  const named = ['a', 'b', 'c'].map((text) => [nameOf(text), nameOf(text), nameOf(text)].at(-1))
  expect(new Set(named).size).toBe(3)
})

test('however many texts there are, 64 get names and the rest do without', () => {
  const nameOf = createStatementNames()
  const texts = Array.from({ length: 5_000 }, (_, n) => `select ${n}`)
  const named = texts
    .map((text) => [nameOf(text), nameOf(text), nameOf(text)].at(-1))
    .filter((name) => name !== undefined)
  expect(new Set(named).size).toBe(64)
  expect(nameOf('select 0')).toBe('muster_0')
})

test('a flood of texts that come once takes no names', () => {
  const nameOf = createStatementNames()
  for (let n = 0; n < 5_000; n += 1) nameOf(`select ${n}`)
  expect([nameOf('mine'), nameOf('mine'), nameOf('mine')]).toEqual([undefined, undefined, 'muster_0'])
})
