import type { ReadyCondition } from '../decision/readiness.ts'

/** Which resources a poll must see between two sweeps, said as searches that the API answers from an index. */

export interface DueQuery {
  /** The condition that says ready, under the API's name for it. */
  readonly condition: ReadyCondition
  /** Reported before this moment and not ready: due. All times in milliseconds since the epoch. */
  readonly notReadyBefore: number
  readonly readyBefore: number
  /** Created, changed or deleted since: due at once. */
  readonly changedSince: number
}

/** One search each: together in one OR they cost the API four times as much (SENTINEL-21). */
export const formatDueSearches = ({ condition, notReadyBefore, readyBefore, changedSince }: DueQuery): string[] => {
  const status = `status.conditions.${condition}`
  return [
    `updated_time >= '${iso(changedSince)}'`,
    `${status}='False' and ${status}.last_updated_time <= '${iso(notReadyBefore)}'`,
    `${status}='True' and ${status}.last_updated_time <= '${iso(readyBefore)}'`,
  ]
}

const iso = (moment: number): string => new Date(moment).toISOString()
