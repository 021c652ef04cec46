import { expect, test } from 'vitest'
import { systemClock, timeLimit } from './clock.ts'

test('a sleep longer than any timer of Node.js does not end before a short one, and ends by its signal', async () => {
  const stop = new AbortController()
  const long = systemClock.sleep('1000h', stop.signal).then(() => 'long')
  const short = systemClock.sleep(20).then(() => 'short')
  expect(await Promise.race([long, short])).toBe('short')
  stop.abort()
  expect(await long).toBe('long')
})

test('a limit longer than any timer of Node.js is not over at once, and one of a fraction is one', async () => {
  const day = 24 * 3_600_000
  const limits = [timeLimit(25 * day), timeLimit(60 * day), timeLimit(day + 0.5)]
  await systemClock.sleep(20)
  expect(limits.map(({ aborted }) => aborted)).toEqual([false, false, false])
})
