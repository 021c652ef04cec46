import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap, type HeapItem } from './heap.ts'

const ITEMS = 20

/** Puts an item in with a time, or takes it out. */
const step = fc.record({ item: fc.nat(ITEMS - 1), at: fc.option(fc.nat(30), { nil: undefined }) })

test('it has what a sorted list has, whatever is put in, moved and taken out', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.nat(30), (steps, limit) => {
      const items: readonly HeapItem[] = Array.from({ length: ITEMS }, () => ({ at: 0, place: -1 }))
      const heap = new Heap<HeapItem>()
      const list = new Set<HeapItem>()
      for (const { item: index, at } of steps) {
        const item = items[index] as HeapItem
        if (at === undefined) {
          heap.remove(item)
          list.delete(item)
        } else {
          item.at = at
          heap.put(item)
          list.add(item)
        }
        expect(heap.first()?.at).toBe([...list].map((one) => one.at).sort((a, b) => a - b)[0])
      }
      expect(new Set(heap.upTo(limit))).toEqual(new Set([...list].filter((one) => one.at <= limit)))
      expect(items.filter(({ place }) => place !== -1)).toHaveLength(list.size)
    }),
  )
})
