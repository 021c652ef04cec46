import { expect, test } from 'vitest'
import { summary } from './tally.ts'

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
