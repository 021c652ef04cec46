import { expect, test, vi } from 'vitest'
import { Tidying } from './tidying.ts'

test('SENTINEL-46 garbage is collected once after the first sweep, and each time that many pulses have been sent and nothing is due', () => {
  const collect = vi.fn()
  const tidying = new Tidying(collect, 1_000_000)
  tidying.everythingPulsed(1_000_010)
  expect(collect).toHaveBeenCalledTimes(0)
  tidying.sweepEnded()
  tidying.sweepEnded()
  expect(collect).toHaveBeenCalledTimes(1)
  tidying.everythingPulsed(1_004_999)
  expect(collect).toHaveBeenCalledTimes(1)
  tidying.everythingPulsed(1_005_000)
  tidying.everythingPulsed(1_009_999)
  expect(collect).toHaveBeenCalledTimes(2)
  tidying.everythingPulsed(1_010_000)
  expect(collect).toHaveBeenCalledTimes(3)
})
