import { expect, test } from 'vitest'
import { createEventCorrelator, type Occurrence } from './event-correlator.ts'

const MINUTE = 60_000
const occurrence = (note: string, uid = 'u'): Occurrence => ({
  type: 'Normal',
  reason: 'R',
  note,
  regarding: { apiVersion: 'v1', kind: 'Pod', name: 'p', namespace: 'n', uid },
})

// RUNTIME-42
test('the same said again within six minutes counts up, later it is a new event', () => {
  const book = createEventCorrelator()
  const first = book.note(occurrence('a'), 0)
  expect(book.note(occurrence('a'), 5 * MINUTE)).toBe(first)
  expect(book.note(occurrence('a'), 10 * MINUTE)).toBe(first)
  expect(first).toMatchObject({ count: 3, firstAt: 0, lastAt: 10 * MINUTE })
  expect(book.note(occurrence('a'), 16 * MINUTE)).not.toBe(first)
})

test('another reason, type, note or object is another event', () => {
  const book = createEventCorrelator()
  const first = book.note(occurrence('a'), 0)
  expect(book.note(occurrence('b'), 0)).not.toBe(first)
  expect(book.note(occurrence('a', 'other'), 0)).not.toBe(first)
  expect(book.note({ ...occurrence('a'), reason: 'S' }, 0)).not.toBe(first)
  expect(book.note({ ...occurrence('a'), type: 'Warning' }, 0)).not.toBe(first)
})

// RUNTIME-42
test('an object may say 25 different things at once, then one in five minutes; others are not held back', () => {
  const book = createEventCorrelator()
  const accepted = Array.from({ length: 30 }, (_, number) => book.note(occurrence(`${number}`), 0)).filter(Boolean)
  expect(accepted).toHaveLength(25)
  expect(book.note(occurrence('other', 'other'), 0)).toBeDefined()
  expect(book.note(occurrence('late'), 5 * MINUTE - 1)).toBeUndefined()
  expect(book.note(occurrence('late'), 5 * MINUTE)).toBeDefined()
  expect(book.note(occurrence('later'), 5 * MINUTE)).toBeUndefined()
})

test('what was not sent is known until it is forgotten', () => {
  const book = createEventCorrelator()
  const series = book.note(occurrence('a'), 0)
  expect(book.unsent()).toEqual([series])
  if (series !== undefined) series.sentCount = 1
  expect(book.unsent()).toEqual([])
  book.note(occurrence('a'), MINUTE)
  expect(book.unsent()).toEqual([series])
  book.forget(7 * MINUTE)
  expect(book.unsent()).toEqual([])
})
