/**
 * What a brake has let through within its window, as text that outlives the process: the next leader counts on from there. It is
 * bounded by the window: one part for each minute, such as `2026-11-22T21:05Z=12,2026-11-22T21:06Z=3`. RUNTIME-71. Pure.
 */
import { type Clock, monotonic } from './clock.ts'
import { BRAKE_WINDOW_MS } from './deletion-brake.ts'

/** The clock of a brake, and how a record, which outlives it, tells time. */
export interface BrakeTimes {
  /** Milliseconds of the brake's clock, which only goes forward. */
  readonly now: number
  /** When that clock was 0, in milliseconds since 1970. */
  readonly epoch: number
}

/** Those of a brake that counts by the monotonic clock. */
export const monotonicTimes = (clock: Clock): BrakeTimes => {
  const now = monotonic(clock)
  return { now, epoch: clock.now().getTime() - now }
}

const MINUTE_MS = 60_000
const PART = /^(\d{4}-\d\d-\d\dT\d\d:\d\dZ)=(\d{1,9})$/
/** More than any brake lets through within its window: a value that a slip of the pen changed can't fill the memory. */
const MAX_DELETIONS = 1_000_000

/** @param deletions When each was carried out, by the brake's clock; the order does not matter. */
export const formatBrakeRecord = (deletions: readonly number[], { epoch }: Pick<BrakeTimes, 'epoch'>): string => {
  const minutes = Map.groupBy(deletions, (at) => Math.floor((at + epoch) / MINUTE_MS) * MINUTE_MS)
  return [...minutes]
    .toSorted(([a], [b]) => a - b)
    .map(([minute, all]) => `${new Date(minute).toISOString().slice(0, 16)}Z=${all.length}`)
    .join(',')
}

/**
 * The deletions that still count, each as late as its minute allows: rather held for a minute longer than let through. Parts that
 * can't be read count for nothing; a clock that is ahead is taken for now.
 * @returns milliseconds of the brake's clock
 */
export const parseBrakeRecord = (text: string | undefined, { now, epoch }: BrakeTimes): readonly number[] =>
  (text ?? '').split(',').flatMap((part) => {
    const [, minute = '', count = '0'] = PART.exec(part.trim()) ?? []
    const began = Date.parse(minute)
    if (Number.isNaN(began)) return []
    const at = Math.min(now, began + MINUTE_MS - 1 - epoch)
    return now - at >= BRAKE_WINDOW_MS ? [] : Array.from({ length: Math.min(Number(count), MAX_DELETIONS) }, () => at)
  })
