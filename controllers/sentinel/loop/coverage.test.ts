import { expect, test } from 'vitest'
import { Coverage } from './coverage.ts'

test('SENTINEL-43: the time in which changes of a stream wait for their pulses is added up, and begun anew each interval', () => {
  const coverage = new Coverage()
  coverage.workBegan(1_000)
  coverage.workBegan(1_500)
  coverage.workEnded(2_000)
  coverage.workBegan(4_000)
  expect(coverage.takeWorkSeconds(5_000)).toBe(2)
  // Still at it, and a clock that was set back takes nothing away.
  expect(coverage.takeWorkSeconds(6_000)).toBe(1)
  coverage.workEnded(3_000)
  expect(coverage.takeWorkSeconds(9_000)).toBe(0)
})
