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

/**
 * When something counts that another process wrote down, by the clock of the process that reads it: the newest that was written counts from
 * now, the rest as much earlier as its writer says. How long ago it was written is not known, whatever the two clocks show; that it lies
 * behind is. So it rather counts for too long, and never for less than its time. RUNTIME-71.
 * @param recorded milliseconds of the writer's clock @param newest likewise, of all that it wrote @param now of the reader's clock
 */
export const recallTime = (recorded: number, newest: number, now: number): number =>
  now - Math.max(0, newest - recorded)

/** @param deletions When each was carried out, by the brake's clock; the order does not matter. */
export const formatBrakeRecord = (deletions: readonly number[], { epoch }: Pick<BrakeTimes, 'epoch'>): string => {
  const minutes = Map.groupBy(deletions, (at) => Math.floor((at + epoch) / MINUTE_MS) * MINUTE_MS)
  return [...minutes]
    .toSorted(([a], [b]) => a - b)
    .map(([minute, all]) => `${new Date(minute).toISOString().slice(0, 16)}Z=${all.length}`)
    .join(',')
}

/**
 * The deletions that still count, each as late as its minute allows (`recallTime`). Parts that can't be read count for nothing.
 * @param now milliseconds of the reader's clock, as those that it returns; it only goes forward
 */
export const parseBrakeRecord = (text: string | undefined, now: number): readonly number[] => {
  const minutes = (text ?? '').split(',').flatMap((part) => {
    const [, minute = '', count = '0'] = PART.exec(part.trim()) ?? []
    const began = Date.parse(minute)
    return Number.isNaN(began) || Number(count) === 0 ? [] : [{ began, count: Math.min(Number(count), MAX_DELETIONS) }]
  })
  const newest = Math.max(...minutes.map(({ began }) => began))
  return minutes.flatMap(({ began, count }) => {
    const at = recallTime(began + MINUTE_MS - 1, newest, now)
    return now - at >= BRAKE_WINDOW_MS ? [] : Array.from({ length: count }, () => at)
  })
}
