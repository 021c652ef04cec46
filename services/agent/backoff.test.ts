import { expect, test } from 'vitest'
import { retryDelay } from './backoff.ts'

// AGENT-9
test('each failure in a row waits twice as long, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 50].map(retryDelay)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000])
})
