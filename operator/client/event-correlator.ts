/** Which occurrences become events, and which only count up one that is already there. Pure: times come as parameters. */
import type { ObjectReference } from './object-reference.ts'

/** Something said about an object. */
export interface Occurrence {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly note: string
  readonly regarding: ObjectReference
}

/** The same said about the same object, once or often: one Event object. */
export interface EventSeries {
  readonly occurrence: Occurrence
  readonly firstAt: number
  lastAt: number
  count: number
  /** The count that the API server knows; 0 before the Event was created. */
  sentCount: number
}

// RUNTIME-42
export interface EventCorrelator {
  /** Notes an occurrence at `now` ms. @returns its series; undefined when the object has said too much and it is dropped */
  note(occurrence: Occurrence, now: number): EventSeries | undefined
  /** Those whose count the API server should be told. */
  unsent(): EventSeries[]
  /** Drops series and allowances that have expired. */
  forget(now: number): void
}

/** client-go's: an occurrence that comes later is a new event. */
const SERIES_WINDOW_MS = 6 * 60_000
/** client-go's spam filter: 25 different events at once, then one in five minutes, for each object. */
const BURST_EVENTS = 25
const REFILL_MS = 5 * 60_000
/** EventSeries kept at most; the oldest goes first. */
const MAX_SERIES = 1_000

export const createEventCorrelator = (): EventCorrelator => {
  const book = new Map<string, EventSeries>()
  const allowances = new Map<string, Allowance>()

  return {
    note(occurrence, now) {
      const { type, reason, note, regarding } = occurrence
      const key = JSON.stringify([regarding.uid, type, reason, note])
      const known = book.get(key)
      if (known !== undefined && now - known.lastAt < SERIES_WINDOW_MS) {
        known.count += 1
        known.lastAt = now
        return known
      }
      const allowance = refilled(allowances.get(regarding.uid), now)
      if (allowance.left < 1) return undefined
      allowances.set(regarding.uid, { left: allowance.left - 1, at: now })
      const series: EventSeries = { occurrence, firstAt: now, lastAt: now, count: 1, sentCount: 0 }
      book.delete(key) // so that it becomes the youngest
      book.set(key, series)
      if (book.size > MAX_SERIES) book.delete(book.keys().next().value ?? key)
      return series
    },

    unsent: () => [...book.values()].filter(({ count, sentCount }) => count > sentCount),

    forget(now) {
      for (const [key, { lastAt }] of book) if (now - lastAt >= SERIES_WINDOW_MS) book.delete(key)
      for (const [uid, allowance] of allowances)
        if (refilled(allowance, now).left >= BURST_EVENTS) allowances.delete(uid)
    },
  }
}

/** A token bucket: how many different events an object may still cause. */
interface Allowance {
  readonly left: number
  readonly at: number
}

const refilled = (allowance: Allowance | undefined, now: number): Allowance =>
  allowance === undefined
    ? { left: BURST_EVENTS, at: now }
    : { left: Math.min(BURST_EVENTS, allowance.left + (now - allowance.at) / REFILL_MS), at: now }
