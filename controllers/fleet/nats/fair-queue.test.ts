import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

// NATS-13
test('of one that asks without end one request waits and one runs: another’s turn comes after one of these', () => {
  const queue = new FairQueue<number>(10)
  for (let n = 0; n < 1_000; n += 1) queue.offer('thief', n)
  expect(queue.take(1)).toEqual([['thief', 999]])
  for (let n = 0; n < 1_000; n += 1) queue.offer('thief', n)
  queue.offer('honest', 1)
  expect(queue.waiting).toBe(2)
  expect(queue.take(1)).toEqual([['honest', 1]])
  expect(queue.take(5)).toEqual([])
  queue.done('thief')
  expect(queue.take(5)).toEqual([['thief', 999]])
  expect(queue.running).toBe(2)
})

test('what waits keeps its place when no more may wait, also when it asks again', () => {
  const queue = new FairQueue<number>(2)
  queue.offer('a', 1)
  queue.offer('b', 1)
  queue.offer('c', 1)
  queue.offer('a', 2)
  expect(queue.take(5)).toEqual([
    ['a', 2],
    ['b', 1],
  ])
})

test('whatever is asked, none is served twice before another that waited all the time', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('offer' as const), name: fc.constantFrom('a', 'b', 'c', 'd') }),
      fc.record({ do: fc.constant('take' as const), name: fc.constant('') }),
    ),
    { maxLength: 200 },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new FairQueue<number>(100)
      /** How often others were served while a name waited. */
      const passed = new Map<string, Map<string, number>>()
      for (const { do: step, name } of all) {
        if (step === 'offer') {
          queue.offer(name, 0)
          if (!passed.has(name)) passed.set(name, new Map())
          continue
        }
        for (const [served] of queue.take(1)) {
          queue.done(served)
          passed.delete(served)
          for (const others of passed.values()) {
            others.set(served, (others.get(served) ?? 0) + 1)
            expect(others.get(served)).toBeLessThanOrEqual(1)
          }
        }
      }
    }),
  )
})
