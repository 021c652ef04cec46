import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { outOfTime, timeLimit } from './time-limit.ts'

test('without a limit work takes as long as it takes', async () => {
  const limit = timeLimit(undefined)
  expect(limit.isOver()).toBe(false)
  expect(await limit.within(sleep(5), expect.unreachable)).toBe(true)
})

test('work that is told to end, and does, has ended', async () => {
  const limit = timeLimit(performance.now() + 10)
  const { promise, resolve } = Promise.withResolvers<void>()
  expect(await limit.within(promise, resolve)).toBe(true)
  expect(limit.isOver()).toBe(true)
})

test('work that does not end when it is told is waited for no longer than it may need', async () => {
  let told = 0
  const forever = new Promise<never>(() => undefined)
  expect(await timeLimit(performance.now() + 10, 10).within(forever, () => void told++)).toBe(false)
  expect(told).toBe(1)
})

test('work that fails has failed', async () => {
  const failing = sleep(1).then(() => Promise.reject(new Error('no such project')))
  await expect(timeLimit(performance.now() + 60_000).within(failing, expect.unreachable)).rejects.toThrow(
    'no such project',
  )
})

test('a run that is out of time has failed by what had not ended, and keeps what had passed', () => {
  const running = [{ file: 'a.test.ts', seconds: 70.4 }]
  expect(outOfTime({ files: { done: 2, all: 7 }, tests: { passed: 9, failed: 0 }, running, secondsLeft: 30 })).toEqual({
    passed: 9,
    failed: [
      "a.test.ts had not ended after 70 s, and the run's time was over",
      "the run's time was over before 4 more files began",
    ],
    skipped: [],
  })
  expect(outOfTime(undefined).failed).toEqual(["the run's time was over before its tests began"])
})
