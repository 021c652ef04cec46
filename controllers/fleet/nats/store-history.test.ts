import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreHistory, type StoreKind, type StoreState } from './store-history.ts'

const state = (firstRevision: number, lastRevision: number, messages: number): StoreState => ({
  firstRevision,
  lastRevision,
  messages,
})

const historyOf = (kind: Partial<StoreKind> = {}) => new StoreHistory({ expires: false, isSaidAgain: false, ...kind })

// FLEET-63
test('a store whose last revision is lower than one that was seen went back, be it found at a look or at the next reading', () => {
  const looked = historyOf()
  expect(looked.begin(state(1, 100, 50))).toBe(true)
  looked.seen(120)
  expect(looked.evaluate(state(1, 119, 50), 120, 1)).toBe('WentBack')
  expect(looked.begin(state(1, 119, 50))).toBe(false)
  expect(looked.begin(state(1, 119, 50))).toBe(true)
})

// FLEET-63
test('what was written after a look was asked for, and was seen before its answer, is no sign of anything', () => {
  const history = historyOf()
  history.begin(state(1, 100, 50))
  history.seen(120)
  expect(history.evaluate(state(1, 119, 50), 100, 1)).toBe('Same')
  expect(history.highest).toBe(120)
})

// FLEET-64
test('a value that is before the first one of the store was purged; the watch has a look’s time to tell that it was written again', () => {
  const history = historyOf({ expires: true })
  history.begin(state(1, 100, 50))
  expect(history.evaluate(state(11, 100, 50), 100, 10)).toBe('Same')
  expect(history.evaluate(state(12, 101, 50), 100, 11)).toBe('Same')
  expect(history.evaluate(state(12, 101, 50), 100, 11)).toBe('Purged')
})

// FLEET-64
test('fewer messages are a purge, unless keys expire', () => {
  const [stays, expires] = [historyOf(), historyOf({ expires: true })]
  for (const history of [stays, expires]) {
    history.begin(state(1, 100, 50))
    history.evaluate(state(1, 100, 50), 100, 1)
  }
  expect(stays.evaluate(state(1, 100, 49), 100, 1)).toBe('Purged')
  expect(expires.evaluate(state(1, 100, 49), 100, 1)).toBe('Same')
})

// FLEET-64
test('what devices say again may be purged; that its store went back is noticed all the same', () => {
  const history = historyOf({ isSaidAgain: true })
  history.begin(state(1, 100, 50))
  expect(history.evaluate(state(1, 100, 50), 100, 1)).toBe('Same')
  for (let look = 0; look < 3; look += 1) expect(history.evaluate(state(90, 100, 10), 100, 1)).toBe('Same')
  expect(history.evaluate(state(1, 99, 50), 100, 1)).toBe('WentBack')
})

// FLEET-63, FLEET-64
test('a store that is only written to is always the same one', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: fc.nat(9), isDelayed: fc.boolean() }), { maxLength: 100 }), (writes) => {
      const history = historyOf()
      history.begin(state(1, 0, 0))
      const [stored, shown] = [new Map<number, number>(), new Map<number, number>()]
      writes.forEach(({ key, isDelayed }, index) => {
        stored.set(key, index + 1)
        const look = state(Math.min(...stored.values()), index + 1, stored.size)
        // The watch tells of it before the look, or between this look and the next one.
        const asked = history.highest
        if (isDelayed) expect(history.evaluate(look, asked, Math.min(...shown.values()))).toBe('Same')
        shown.set(key, index + 1)
        history.seen(index + 1)
        if (!isDelayed) expect(history.evaluate(look, history.highest, Math.min(...shown.values()))).toBe('Same')
      })
    }),
  )
})
