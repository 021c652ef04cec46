import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInFlightLimit } from './in-flight-limit.ts'

test('a caller has so many requests under way and no more, until one has ended', () => {
  const limit = createInFlightLimit({ total: 10, perCaller: 2 })
  const [first] = [limit.enter('a'), limit.enter('a')]
  expect(limit.enter('a')).toBeUndefined()
  first?.()
  first?.()
  expect(limit.enter('a')).toBeDefined()
  expect(limit.enter('a')).toBeUndefined()
})

// API-83
test('whatever the others do, a caller without a request gets in, and the total is exceeded by one a caller at most', () => {
  const steps = fc.array(fc.record({ caller: fc.constantFrom('a', 'b', 'c', 'd'), ends: fc.boolean() }))
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }), (taken, total, perCaller) => {
      const limit = createInFlightLimit({ total, perCaller })
      const places = new Map<string, (() => void)[]>()
      for (const { caller, ends } of taken) {
        const own = places.get(caller) ?? []
        if (ends) own.pop()?.()
        else {
          const leave = limit.enter(caller)
          if (own.length === 0) expect(leave).toBeDefined()
          if (leave !== undefined) places.set(caller, [...own, leave])
        }
        const counts = [...places.values()].map(({ length }) => length)
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(perCaller)
        expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(total + 4)
      }
    }),
  )
})
