/** Which occurrences become events, and which only count up one that is already there. Pure: times come as parameters. */
import type { ObjectReference } from './event-object.ts'

/** Something said about an object. */
export interface Occurrence {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly note: string
  readonly regarding: ObjectReference
}

/** The same said about the same object, once or often: one Event object. */
export interface Series {
  readonly occurrence: Occurrence
  readonly firstAt: number
  lastAt: number
  count: number
  /** The count that the API server knows; 0 before the Event was created. */
  sentCount: number
}

export interface SeriesBook {
  /** Notes an occurrence at `now` ms. @returns its series; undefined when the object has said too much and it is dropped */
  note(occurrence: Occurrence, now: number): Series | undefined
  /** Those whose count the API server should be told. */
  unsent(): Series[]
  /** Drops what nobody will add to. */
  forget(now: number): void
}

/** client-go's: an occurrence that comes later is a new event. */
const SERIES_WINDOW = 6 * 60_000
/** client-go's spam filter: 25 different events at once, then one in five minutes, for each object. */
const BURST = 25
const REFILL = 5 * 60_000
/** Series kept at most; the oldest goes first. */
const CAPACITY = 1_000

export const createSeriesBook = (): SeriesBook => {
  const book = new Map<string, Series>()
  const allowances = new Map<string, Allowance>()

  return {
    note(occurrence, now) {
      const { type, reason, note, regarding } = occurrence
      const key = JSON.stringify([regarding.uid, type, reason, note])
      const known = book.get(key)
      if (known !== undefined && now - known.lastAt < SERIES_WINDOW) {
        known.count += 1
        known.lastAt = now
        return known
      }
      const allowance = refilled(allowances.get(regarding.uid), now)
      if (allowance.left < 1) return undefined
      allowances.set(regarding.uid, { left: allowance.left - 1, at: now })
      const series: Series = { occurrence, firstAt: now, lastAt: now, count: 1, sentCount: 0 }
      book.delete(key) // so that it becomes the youngest
      book.set(key, series)
      if (book.size > CAPACITY) book.delete(book.keys().next().value ?? key)
      return series
    },

    unsent: () => [...book.values()].filter(({ count, sentCount }) => count > sentCount),

    forget(now) {
      for (const [key, { lastAt }] of book) if (now - lastAt >= SERIES_WINDOW) book.delete(key)
      for (const [uid, allowance] of allowances) if (refilled(allowance, now).left >= BURST) allowances.delete(uid)
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
    ? { left: BURST, at: now }
    : { left: Math.min(BURST, allowance.left + (now - allowance.at) / REFILL), at: now }
