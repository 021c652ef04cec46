import fc from 'fast-check'
import { expect, test } from 'vitest'
import { labels, selectors } from '#operator/model/selector.arbitrary.ts'
import { createBatchFinder, freezeBatches, roundUpShare } from './batches.ts'

const rollout = { uid: 'u', revision: 1 }
const specs = fc.array(
  fc.record(
    {
      selector: selectors,
      limit: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom('10%' as const, '60%' as const)),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 4 },
)
const fleet = fc
  .array(labels, { maxLength: 20, size: 'max' })
  .map((all) => all.map((own, i) => ({ name: `d${i}`, labels: own, joinedAt: 0 })))

// FLEET-37
test('every device has one batch, the same that it was counted in when they were frozen', () => {
  fc.assert(
    fc.property(specs, fleet, (batches, devices) => {
      const frozen = freezeBatches(batches, rollout, devices)
      const batchOf = createBatchFinder(batches, { ...rollout, startedAt: 0, batches: frozen })
      const found = frozen.map((_, i) => devices.filter((device) => batchOf(device) === i + 1).length)
      expect(found).toEqual(frozen.map(({ size }) => size))
      expect(found.reduce((sum, size) => sum + size, 0)).toBe(devices.length)
    }),
  )
})

// FLEET-38
test('the order is the same for every replica, and another for the next revision', () => {
  const devices = Array.from({ length: 40 }, (_, i) => ({ name: `d${i}`, labels: {}, joinedAt: 0 }))
  const first = (revision: number, seen = devices) => {
    const id = { uid: 'u', revision }
    const find = createBatchFinder([{ limit: 5 }], {
      ...id,
      startedAt: 0,
      batches: freezeBatches([{ limit: 5 }], id, seen),
    })
    return devices.filter((device) => find(device) === 1).map(({ name }) => name)
  }
  expect(first(1)).toHaveLength(5)
  expect(first(1, devices.toReversed())).toEqual(first(1))
  expect(first(1)).not.toEqual(first(2))
})

test.each([
  [3, 10, 3],
  ['25%', 10, 3],
  ['1%', 10, 1],
  ['100%', 10, 10],
  ['50%', 0, 0],
] as const)('%s of %i are %i', (limit, all, amount) => {
  expect(roundUpShare(limit, all)).toBe(amount)
})
