import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { slotNumbers, slotOf } from './rendezvous.ts'

const ids = Array.from({ length: 10_000 }, () => randomUUID())

test('every id has exactly one owner among the slots, whatever their order', () => {
  fc.assert(
    fc.property(fc.string(), fc.uniqueArray(fc.nat(1_000), { minLength: 1, maxLength: 20 }), (id, slots) => {
      const owner = slotOf(id, slots)
      expect(slots).toContain(owner)
      expect(slotOf(id, slots.toReversed())).toBe(owner)
    }),
  )
})

test('without slots nothing has an owner', () => {
  expect(slotOf('a', [])).toBeUndefined()
})

// SENTINEL-33
test('an id moves only to the slot that is added', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 50 }), (id, shards) => {
      const before = slotOf(id, slotNumbers(shards))
      expect([before, shards]).toContain(slotOf(id, slotNumbers(shards + 1)))
    }),
  )
})

test('a fourth slot takes about a quarter, and equally from the other three', () => {
  const movedFrom = [0, 0, 0]
  for (const id of ids) {
    const before = slotOf(id, slotNumbers(3)) ?? 0
    if (slotOf(id, slotNumbers(4)) === 3) movedFrom[before] = (movedFrom[before] ?? 0) + 1
  }
  for (const share of movedFrom) expect(share).toBeGreaterThan(ids.length / 12 - 150)
  for (const share of movedFrom) expect(share).toBeLessThan(ids.length / 12 + 150)
})

test('ids that differ in one digit are spread over the slots', () => {
  const counts = new Map<number | undefined, number>()
  for (let number = 0; number < 8_000; number++) {
    const owner = slotOf(`cluster-${number}`, slotNumbers(8))
    counts.set(owner, (counts.get(owner) ?? 0) + 1)
  }
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150)
})
