import { expect, test } from 'vitest'
import { createStatementNames } from './statement-names.ts'

test('what comes again and again gets a name, and keeps it', () => {
  const { nameOf } = createStatementNames()
  expect(Array.from({ length: 4 }, () => nameOf('select 1'))).toEqual([undefined, undefined, 'muster_0', 'muster_0'])
  expect(nameOf('select 2')).toBe(undefined)
})

test('different texts get different names', () => {
  const { nameOf } = createStatementNames()
  const named = ['a', 'b', 'c'].map((text) => [nameOf(text), nameOf(text), nameOf(text)].at(-1))
  expect(new Set(named).size).toBe(3)
})

test('API-94: however many texts come often, 64 have names, those that came last, and no name is given twice', () => {
  const names = createStatementNames()
  const often = (text: string) => [names.nameOf(text), names.nameOf(text), names.nameOf(text)].at(-1) ?? 'none'
  const first = often('mine')
  const given = Array.from({ length: 5_000 }, (_, n) => {
    // What goes on being used keeps its name.
    expect(names.nameOf('mine')).toBe(first)
    return often(`select ${n}`)
  })
  expect(new Set(given).size).toBe(5_000)
  expect(given.filter((name) => names.isCurrent(name))).toEqual(given.slice(-63))
  expect([names.isCurrent(first), names.evictions]).toEqual([true, 5_001 - 64])
})

test('API-94: a flood of texts that come once takes no names, and is not remembered', () => {
  const { nameOf } = createStatementNames()
  for (let n = 0; n < 5_000; n += 1) nameOf(`select ${n}`)
  expect([nameOf('mine'), nameOf('mine'), nameOf('mine')]).toEqual([undefined, undefined, 'muster_0'])
  // As if it had never come.
  const first = 'select 0'
  expect([nameOf(first), nameOf(first), nameOf(first)]).toEqual([undefined, undefined, 'muster_1'])
})
