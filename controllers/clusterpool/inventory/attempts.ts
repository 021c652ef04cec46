/**
 * How often clusters failed with a customization: it is broken by the cloud only after several, with a pause between them.
 * POOL-15, POOL-16.
 */

import type { InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import type { Cluster } from '../model/cluster.ts'

/** What is kept of failures between passes. */
export interface Failures {
  readonly failure?: InventoryEntry['failure']
  readonly retryTime?: InventoryEntry['retryTime']
}

/** The pause after the first failure, in milliseconds; it doubles with each further one. */
export const FIRST_COOL_OFF_MS = 5 * 60_000
export const COOL_OFF: ExponentialBackoff = { initial: FIRST_COOL_OFF_MS, factor: 2, max: 60 * 60_000 }

/**
 * Counts the failure of a cluster, once: the same cluster in a later pass changes nothing.
 * @param why What went wrong, in words.
 * @param limit How many may fail.
 */
export const recordFailure = (before: Failures, cluster: Cluster, why: string, limit: number, now: Date): Failures => {
  if (before.failure?.uid === cluster.uid) return before
  const count = Math.min((before.failure?.count ?? 0) + 1, limit)
  const pause = exponentialDelay(COOL_OFF, count)
  const message = `cluster ${cluster.name} failed: ${why}`
  return {
    failure: { count, uid: cluster.uid, poolVersion: cluster.version ?? '', message },
    ...(count < limit && { retryTime: new Date(now.getTime() + pause).toISOString() }),
  }
}

/** What people are told of the failures; undefined when there were none. */
export const failureMessage = ({ failure, retryTime }: Failures, limit: number): string | undefined => {
  if (failure === undefined) return undefined
  const next =
    failure.count >= limit
      ? 'edit the customization to try again'
      : retryTime === undefined
        ? 'used again, because more attempts are allowed now'
        : `tried again at ${retryTime} or later`
  return `${failure.message}; ${failure.count} of ${limit} attempts used; ${next}`
}

/** May no further cluster be tried with it? */
export const hasNoAttemptsLeft = ({ failure }: Failures, limit: number): boolean => (failure?.count ?? 0) >= limit

/** Until when no cluster is tried with it, in milliseconds since the epoch; undefined when one may be. */
export const coolOffEnd = ({ retryTime }: Pick<Failures, 'retryTime'>, now: Date): number | undefined => {
  const until = retryTime === undefined ? 0 : Date.parse(retryTime)
  return until > now.getTime() ? until : undefined
}
