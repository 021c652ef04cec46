import { expect, test } from 'vitest'
import { describeGrowth } from './growth.ts'

test('the requests that cost more with more clusters are named', () => {
  const costs = new Map([
    ['get', [0.3, 0.3, 0.4]],
    ['label search', [2, 4, 9]],
  ])
  expect(describeGrowth([1_000, 10_000, 100_000], costs)).toBe(
    'from 1,000 to 100,000 clusters these take more CPU: label search 4.5 times.',
  )
  costs.delete('label search')
  expect(describeGrowth([1_000, 100_000], costs)).toBe(
    'from 1,000 to 100,000 clusters no request takes 2 times the CPU.',
  )
})
