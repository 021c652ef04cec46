import { expect, test } from 'vitest'
import { redeliveryDelay } from './redelivery.ts'

test('ADAPTER-22: pauses double up to five minutes and are spread', () => {
  const middle = (deliveries: number) => redeliveryDelay(5_000, deliveries, () => 0.5) / 1_000
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map(middle)).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300])
  expect([redeliveryDelay(5_000, 1, () => 0), redeliveryDelay(5_000, 1, () => 1)]).toEqual([4_000, 6_000])
})
