/** How a batch does. FLEET-39, FLEET-43, FLEET-60. Pure. */
import type { RolloutSpec } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { toMilliseconds } from '#operator/model/duration.ts'
import type { RolloutDevice } from './member.ts'

export interface BatchCounts {
  readonly succeeded: number
  readonly failed: number
  /** Of the failed: those that took too long. */
  readonly timedOut: number
  /** Not decided yet. */
  readonly open: number
  /** Of the open: those that have not been given the change. */
  readonly waiting: number
  /** Offline for longer than the grace: they don't count, and catch up when they are back. */
  readonly absent: number
  /** Something keeps changes off them, such as a pin or a closed window: they don't count, and catch up later. */
  readonly held: number
}

type Timing = Pick<RolloutSpec, 'updateTimeout' | 'offlineGrace' | 'successThreshold'>

/** @param began When the turn of the batch began: a device without a time of its own is counted from then. Milliseconds, as `now`. */
export const countBatch = (
  members: readonly RolloutDevice[],
  timing: Timing,
  began: number,
  now: number,
): BatchCounts => {
  const counts = { succeeded: 0, failed: 0, timedOut: 0, open: 0, waiting: 0, absent: 0, held: 0 }
  const timeout = toMilliseconds(timing.updateTimeout)
  const grace = toMilliseconds(timing.offlineGrace)
  for (const { stage, assignedAt = began, isAlive, offlineSince = began, isHeld } of members) {
    if (isHeld) counts.held += 1
    else if (!isAlive) counts[now - offlineSince >= grace ? 'absent' : 'open'] += 1
    else if (stage === 'Succeeded') counts.succeeded += 1
    else if (stage === 'Failed') counts.failed += 1
    else if (stage === 'Working' && now - assignedAt >= timeout) {
      counts.failed += 1
      counts.timedOut += 1
    } else {
      counts.open += 1
      if (stage === 'Waiting') counts.waiting += 1
    }
  }
  return counts
}

export type BatchVerdict =
  /** Enough have succeeded, and no device is open. */
  | 'Good'
  /** So many have failed that it can't become good any more. */
  | 'Bad'
  | 'Open'
  /** No device counts, though there are devices: that is no success. */
  | 'Absent'

export const judgeBatch = (
  { succeeded, failed, open, absent, held }: BatchCounts,
  successThreshold: number,
): BatchVerdict => {
  const counted = succeeded + failed + open
  if (counted === 0) return absent + held > 0 ? 'Absent' : 'Good'
  if ((counted - failed) * 100 < counted * successThreshold) return 'Bad'
  return open > 0 ? 'Open' : 'Good'
}
