import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreHistory, type StoreState } from './store-history.ts'

const state = (firstRevision: number, lastRevision: number, messages: number): StoreState => ({
  firstRevision,
  lastRevision,
  messages,
})

// FLEET-63
test('a store whose last revision is lower than one that was seen went back, be it found at a look or at the next reading', () => {
  const looked = new StoreHistory(false)
  expect(looked.begin(100)).toBe(true)
  looked.seen(120)
  expect(looked.evaluate(state(1, 119, 50), 1)).toBe('WentBack')
  expect(looked.begin(119)).toBe(false)
  expect(looked.begin(119)).toBe(true)
})

// FLEET-64
test('a value that is before the first one of the store was purged; the watch has a look’s time to tell that it was written again', () => {
  const history = new StoreHistory(true)
  history.begin(100)
  expect(history.evaluate(state(11, 100, 50), 10)).toBe('Same')
  expect(history.evaluate(state(12, 101, 50), 11)).toBe('Same')
  expect(history.evaluate(state(12, 101, 50), 11)).toBe('Purged')
})

// FLEET-64
test('fewer messages are a purge, unless keys expire', () => {
  const [stays, expires] = [new StoreHistory(false), new StoreHistory(true)]
  for (const history of [stays, expires]) {
    history.begin(100)
    history.evaluate(state(1, 100, 50), 1)
  }
  expect(stays.evaluate(state(1, 100, 49), 1)).toBe('Purged')
  expect(expires.evaluate(state(1, 100, 49), 1)).toBe('Same')
})

// FLEET-63, FLEET-64
test('a store that is only written to is always the same one', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: fc.nat(9), isDelayed: fc.boolean() }), { maxLength: 100 }), (writes) => {
      const history = new StoreHistory(false)
      history.begin(0)
      const [stored, shown] = [new Map<number, number>(), new Map<number, number>()]
      writes.forEach(({ key, isDelayed }, index) => {
        stored.set(key, index + 1)
        const look = state(Math.min(...stored.values()), index + 1, stored.size)
        // The watch tells of it before the look, or between this look and the next one.
        if (isDelayed) expect(history.evaluate(look, Math.min(...shown.values()))).toBe('Same')
        shown.set(key, index + 1)
        history.seen(index + 1)
        if (!isDelayed) expect(history.evaluate(look, Math.min(...shown.values()))).toBe('Same')
      })
    }),
  )
})
