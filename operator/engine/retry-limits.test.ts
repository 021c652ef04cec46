import { expect, test } from 'vitest'
import { backoffDelay } from '../model/outcome.ts'
import { retryLimits } from './retry-limits.ts'
import { withDefaults } from './settings.ts'

const { execution } = withDefaults({})
const delays = (backoff?: Parameters<typeof retryLimits>[0]['backoff']) => {
  const limits = retryLimits(backoff === undefined ? {} : { backoff }, execution)
  return [0, 0.5].map((random) => backoffDelay(limits.backoff, 1, random))
}

test('RUNTIME-4: what failed together is not tried together, unless its handler says exactly when', () => {
  expect(delays({ initial: '10s', factor: 2, max: '1m' })).toEqual([8_000, 10_000])
  const [earliest = 0, usual = 0] = delays()
  expect(earliest).toBe(usual * 0.8)
  expect(delays('10s')).toEqual([10_000, 10_000])
})
