import { expect, test } from 'vitest'
import { lightFuse } from './fuse.ts'

const dieAfter = (after: number) => {
  const counted: string[] = []
  return { counted, fuse: lightFuse({ after, background: /^select poll/, counted: (sql) => counted.push(sql) }) }
}

test('the process dies after that many statements of the mutation', () => {
  const { fuse, counted } = dieAfter(2)
  expect(['begin', 'select 1', 'update a'].map((sql) => fuse.at('one', sql))).toEqual(['lives', 'lives', 'dies after'])
  expect(counted).toEqual(['select 1', 'update a'])
})

test('with none it dies before the database sees the first', () => {
  const { fuse } = dieAfter(0)
  expect(['begin', 'select 1'].map((sql) => fuse.at('one', sql))).toEqual(['lives', 'dies before'])
})

test('what polls in the background does not count, with all of its transaction, whatever comes between', () => {
  const { fuse, counted } = dieAfter(3)
  const statements = [
    ['one', 'begin'],
    ['two', 'begin'],
    ['one', 'select 1'],
    ['two', 'select poll'],
    ['three', 'select poll'],
    ['two', 'select 2'],
    ['two', 'commit'],
    ['one', 'update a'],
    ['two', 'begin'],
    ['one', 'commit'],
  ] as const
  expect(statements.map(([session, sql]) => fuse.at(session, sql)).at(-1)).toBe('dies after')
  expect(counted).toEqual(['select 1', 'update a', 'commit'])
})
