import { describe, expect, test } from 'vitest'
import { afterSecondTries, secondTries, summary, total } from './tally.ts'

test('a run without failures and skips', () => {
  expect(summary({ passed: 12, failed: [], skipped: [] })).toEqual(['12 passed, 0 failed'])
})

test('failures are named and skips give their reasons before the last line', () => {
  const skipped = ['no Docker', 'no Docker', 'no reason was given']
  expect(summary({ passed: 3, failed: ['types', 'a.test.ts > adds'], skipped })).toEqual([
    'failed: types',
    'failed: a.test.ts > adds',
    'skipped 2: no Docker',
    'skipped 1: no reason was given',
    '3 passed, 2 failed, 3 skipped',
  ])
})

describe('a second try', () => {
  const file = (name: string, failed: readonly string[] = []) => ({
    file: name,
    passed: 5 - failed.length,
    failed,
    skipped: [],
  })

  test('is for the files that failed', () => {
    expect(secondTries([file('a'), file('b', ['b > 1']), file('c')])).toEqual(['b'])
  })

  test('is not for many: then something is broken', () => {
    expect(secondTries(['a', 'b', 'c'].map((name) => file(name, ['1'])))).toEqual(['a', 'b', 'c'])
    expect(secondTries(['a', 'b', 'c', 'd'].map((name) => file(name, ['1'])))).toEqual([])
  })

  test('counts instead of the first, and what passed only then is told', () => {
    const first = [file('a'), file('b', ['b > 1', 'b > 2'])]
    const { files, unsteady } = afterSecondTries(first, [file('b', ['b > 2', 'b > 3'])])
    expect(total(files)).toEqual({ passed: 8, failed: ['b > 2', 'b > 3'], skipped: [] })
    expect(unsteady).toEqual(['b > 1'])
    expect(summary(total(files), unsteady)).toEqual([
      'unsteady: b > 1 (failed, and passed when its file ran again)',
      'failed: b > 2',
      'failed: b > 3',
      '8 passed, 2 failed',
    ])
  })

  test('that never came changes nothing', () => {
    const first = [file('a', ['a > 1'])]
    expect(afterSecondTries(first, [])).toEqual({ files: first, unsteady: [] })
  })
})
