/** The state of each cluster of a pool: POOL-32, POOL-64, CLAIM-7. */
import {
  type ClusterPoolSpec,
  PROVISION_DEADLINE,
  UNREACHABLE_DEADLINE,
} from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { spanOf } from '#apis/schema/span.ts'
import { LEASE_GRACE_MS } from '../lease/lease.ts'
import type { Cluster } from '../model/cluster.ts'
import type { Observed } from '../model/observed.ts'

/** Every cluster stands in exactly one of them; each list is oldest first. */
export interface Buckets {
  readonly deleting: readonly Cluster[]
  /** Its user is done with it, or its claim is gone: it is deleted next. */
  readonly marked: readonly Cluster[]
  readonly claimed: readonly Cluster[]
  /** Unclaimed, and it will never be usable. */
  readonly broken: readonly Cluster[]
  /** Installed and running, and reached as far as is known. */
  readonly assignable: readonly Cluster[]
  /** Installed, and not running or not reached. */
  readonly standby: readonly Cluster[]
  readonly installing: readonly Cluster[]
}

export type Bucket = keyof Buckets

/** Sorts the clusters of a pool into their buckets. */
export const sortIntoBuckets = ({ pool, clusters, absentClaims }: Observed, now: Date): Buckets => {
  const buckets: Record<Bucket, Cluster[]> = {
    deleting: [],
    marked: [],
    claimed: [],
    broken: [],
    assignable: [],
    standby: [],
    installing: [],
  }
  for (const cluster of clusters) buckets[bucketOf(cluster, absentClaims, pool.spec, now)].push(cluster)
  return buckets
}

const bucketOf = (
  cluster: Cluster,
  absentClaims: Observed['absentClaims'],
  spec: ClusterPoolSpec,
  now: Date,
): Bucket => {
  if (cluster.deleting) return 'deleting'
  if (cluster.marked) return 'marked'
  // A claim holds its cluster by a finalizer. Without the claim the cluster is unused, and no other claim may get it.
  if (cluster.claim !== undefined) return isClaimGone(cluster, absentClaims, now) ? 'marked' : 'claimed'
  if (brokenReason(cluster, spec, now) !== undefined) return 'broken'
  if (!cluster.installed) return 'installing'
  return cluster.power === 'Running' && cluster.unreachable === undefined ? 'assignable' : 'standby'
}

/** When a claim that is not there counts as gone: whatever restores it may be at it. Milliseconds since the epoch. CLAIM-7. */
export const claimGoneAt = (
  { claim, restoring }: Cluster,
  absentClaims: Observed['absentClaims'],
): number | undefined => {
  const since = claim === undefined || restoring ? undefined : absentClaims.get(claim)
  return since === undefined ? undefined : since + LEASE_GRACE_MS
}

/** Its claim is gone, and was so for long enough. */
export const isClaimGone = (cluster: Cluster, absentClaims: Observed['absentClaims'], now: Date): boolean =>
  (claimGoneAt(cluster, absentClaims) ?? Number.POSITIVE_INFINITY) <= now.getTime()

/** Why an unclaimed cluster will never be usable, in words; undefined when it may be. */
export const brokenReason = (cluster: Cluster, spec: ClusterPoolSpec, now: Date): string | undefined => {
  if (cluster.stopped !== undefined) return cluster.stopped
  if (isPastDeadline(cluster, spec)) {
    const last = cluster.progress === undefined ? '' : `; at last: ${cluster.progress}`
    return `was not installed within ${spec.provisionDeadline ?? PROVISION_DEADLINE} (provisionDeadline)${last}`
  }
  if (isSilentForLong(cluster, spec)) return `its API server has not answered since ${cluster.unreachable?.since}`
  const until = resumeDeadline(cluster, spec)
  if (until === undefined || until >= now.getTime()) return undefined
  return `did not resume within ${spec.hibernationConfig?.resumeTimeout}`
}

/** Has its installation been watched for longer than it may take? By the clock of what watches it, not by this one. POOL-48. */
const isPastDeadline = (
  { installWatched }: Cluster,
  { provisionDeadline = PROVISION_DEADLINE }: Pick<ClusterPoolSpec, 'provisionDeadline'>,
): boolean => {
  if (installWatched === undefined) return false
  const most = spanOf(provisionDeadline)
  return most !== 0 && installWatched > most
}

/** Has its API server been asked in vain for longer than the pool puts up with? POOL-67. */
export const isSilentForLong = (
  { unreachable }: Cluster,
  { unreachableDeadline = UNREACHABLE_DEADLINE }: Pick<ClusterPoolSpec, 'unreachableDeadline'>,
): boolean => {
  const most = spanOf(unreachableDeadline)
  return unreachable !== undefined && most !== 0 && unreachable.silentMs >= most
}

/** Until when a cluster that wakes up may take; undefined when it doesn't, or may take for ever. */
export const resumeDeadline = (cluster: Cluster, { hibernationConfig }: ClusterPoolSpec): number | undefined => {
  const timeout = hibernationConfig?.resumeTimeout === undefined ? 0 : spanOf(hibernationConfig.resumeTimeout)
  if (timeout === 0 || !cluster.installed || cluster.desiredPower !== 'Running') return undefined
  if (cluster.power === 'Running' || cluster.power === 'Hibernating') return undefined
  return cluster.resumingSince === undefined ? undefined : cluster.resumingSince + timeout
}
