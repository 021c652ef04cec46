/** What a deletion in fleet-desired means for what a device has. Pure. */

/** Where something stands in a bucket. Both are the server's: revisions grow within one store, times also over several. */
export interface StorePosition {
  readonly revision: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Milliseconds by which the clocks of a NATS cluster's servers may differ, or the clock of one may go back. */
export const SERVER_CLOCK_TOLERANCE_MS = 600_000

/** Milliseconds by which a time of the server may be ahead of the device's clock before one of the two is taken to be wrong. */
export const DEVICE_CLOCK_TOLERANCE_MS = 86_400_000

export type DeletionVerdict =
  | { readonly verdict: 'Remove' }
  /** It was written before the entry: the store was restored from a backup, and has lost the entry. */
  | { readonly verdict: 'Older'; readonly reason: string }

/**
 * Whether a deletion came after the entry that was told last. A revision alone does not say so: in a store that went back, or was
 * made anew, later deletions have lower revisions, and deletions of another store may have higher ones. AGENT-26.
 *
 * A server may say any time. One to come would hold off deletions until then, so it counts for nothing by a clock that has come as far
 * as the deletion. A clock that is behind both of them, as after a boot without one, tells nothing of either.
 * @param entry undefined when none was told, as after an update of the agent from a release that did not record it
 * @param now by the device's clock, milliseconds since 1970
 */
export const evaluateDeletion = (
  deletion: StorePosition,
  entry: StorePosition | undefined,
  now: number,
): DeletionVerdict => {
  if (entry === undefined || deletion.at > entry.at) return { verdict: 'Remove' }
  if (isToCome(entry, now) && !isToCome(deletion, now)) return { verdict: 'Remove' }
  if (deletion.revision > entry.revision && entry.at - deletion.at <= SERVER_CLOCK_TOLERANCE_MS)
    return { verdict: 'Remove' }
  const when = new Date(deletion.at).toISOString()
  return {
    verdict: 'Older',
    reason: `the deletion in fleet-desired (revision ${deletion.revision} of the bucket, ${when}) is older than what runs, which stays until it is deleted again`,
  }
}

/**
 * The later one: what a restored store tells again of the time before takes nothing back. Of two of which the clock allows one alone,
 * that one.
 */
export const laterPosition = (a: StorePosition | undefined, b: StorePosition, now: number): StorePosition => {
  if (a === undefined) return b
  if (isToCome(a, now) !== isToCome(b, now)) return isToCome(a, now) ? b : a
  return b.at > a.at || (b.at === a.at && b.revision > a.revision) ? b : a
}

const isToCome = ({ at }: StorePosition, now: number): boolean => at > now + DEVICE_CLOCK_TOLERANCE_MS
