import { expect, test } from 'vitest'
import { describeProgress, describeSeconds, estimateSecondsLeft } from './progress.ts'

test('what is left is shared by the workers, and no shorter than its longest file', () => {
  const pace = { finished: [], running: [{ expected: 20, ran: 5 }], waiting: [30, 15], workers: 2 }
  expect(estimateSecondsLeft(pace)).toBe(30)
  expect(estimateSecondsLeft({ ...pace, waiting: [100, 15] })).toBe(100)
})

test('a run that is twice as slow as the last one goes on twice as slow', () => {
  const pace = { running: [{ expected: 30, ran: 50 }], waiting: [30], workers: 1 }
  expect(estimateSecondsLeft({ ...pace, finished: [{ expected: 50, took: 110 }] })).toBe(70)
})

test('short files that end first do not make a run look short whose files were never run before', () => {
  const finished = Array.from({ length: 6 }, () => ({ expected: 60, took: 0.1 }))
  const running = Array.from({ length: 4 }, () => ({ expected: 60, ran: 170 }))
  const waiting = Array.from({ length: 40 }, () => 60)
  expect(estimateSecondsLeft({ finished, running, waiting, workers: 4 })).toBeGreaterThan(500)
})

test('a few seconds of finished files say nothing of the pace', () => {
  expect(estimateSecondsLeft({ finished: [{ expected: 1, took: 9 }], running: [], waiting: [10], workers: 1 })).toBe(10)
})

test('a file that takes longer than ever leaves nothing, not less', () => {
  expect(estimateSecondsLeft({ finished: [], running: [{ expected: 1, ran: 9 }], waiting: [], workers: 1 })).toBe(0)
})

test('one line says how far the run is', () => {
  const running = [
    { file: 'test/integration/fleet/recovery.test.ts', seconds: 12 },
    { file: 'test/e2e/up.test.ts', seconds: 92 },
    { file: 'operator/model/clock.test.ts', seconds: 0.2 },
  ]
  expect(
    describeProgress({ files: { done: 3, all: 9 }, tests: { passed: 20, failed: 1 }, running, secondsLeft: 610 }),
  ).toBe(
    '3 of 9 files, 20 tests passed, 1 failed; about 10 min left; now e2e/up (1 min 32 s), fleet/recovery (12 s), operator/model/clock (0 s)',
  )
  expect(
    describeProgress({ files: { done: 9, all: 9 }, tests: { passed: 20, failed: 0 }, running: [], secondsLeft: 0 }),
  ).toBe('9 of 9 files, 20 tests passed')
})

test.for([
  [0.4, '0 s'],
  [59.6, '1 min 0 s'],
  [599, '9 min 59 s'],
  [3600, '60 min'],
] as const)('%d seconds are %s', ([seconds, text]) => {
  expect(describeSeconds(seconds)).toBe(text)
})
