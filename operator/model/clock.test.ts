import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'

test('a sleep longer than any timer of Node.js does not end before a short one, and ends by its signal', async () => {
  const stop = new AbortController()
  const long = systemClock.sleep('1000h', stop.signal).then(() => 'long')
  const short = systemClock.sleep(20).then(() => 'short')
  expect(await Promise.race([long, short])).toBe('short')
  stop.abort()
  expect(await long).toBe('long')
})
