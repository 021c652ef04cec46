/** The last holders of a customization, newest first: POOL-56. */
import type {
  ClusterDeploymentCustomizationStatus,
  LeaseOutcome,
} from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { brokenReason } from '../decide/buckets.ts'
import type { Cluster } from '../model/cluster.ts'
import type { Observed } from '../model/observed.ts'

/** So many are kept. */
const MAX_HOLDERS = 10
const MAX_MESSAGE_CHARS = 256

/** How a lease ended, and what was wrong with its cluster; undefined when nothing was. */
export interface LeaseEnd {
  readonly outcome: LeaseOutcome
  readonly message?: string
}

/** How the lease of a cluster ended that goes now. */
export const leaseEndOf = (cluster: Cluster, { pool }: Observed, now: Date): LeaseEnd => {
  if (cluster.claim !== undefined) return { outcome: 'Claimed' }
  const failure = pool.status?.inventory?.[cluster.customization ?? '']?.failure
  const counted = failure?.uid === cluster.uid ? failure.message : undefined
  const message = counted ?? brokenReason(cluster, pool.spec, now)
  if (message !== undefined) return { outcome: 'Failed', message }
  return { outcome: cluster.installed ? 'Unclaimed' : 'NotInstalled' }
}

/** The history with the present holder at its head; as it was when there is no holder. */
export const withHolder = (
  status: ClusterDeploymentCustomizationStatus | undefined,
  { outcome, message }: LeaseEnd,
  now: Date,
): NonNullable<ClusterDeploymentCustomizationStatus['history']> => {
  const before = status?.history ?? []
  const cluster = status?.clusterDeploymentRef
  if (cluster === undefined) return before
  const available = findCondition(status?.conditions, 'Available')
  const holder = {
    clusterDeployment: cluster.name,
    ...(status?.clusterPoolRef !== undefined && { clusterPool: status.clusterPoolRef.name }),
    ...(available?.status === 'False' && { leasedAt: available.lastTransitionTime }),
    releasedAt: now.toISOString(),
    outcome,
    ...(message !== undefined && { message: message.slice(0, MAX_MESSAGE_CHARS) }),
  }
  return [holder, ...before].slice(0, MAX_HOLDERS)
}
