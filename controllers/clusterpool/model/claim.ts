import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type Condition, findCondition } from '#operator/model/conditions.ts'
import { deletedAt, millisecondsOf } from './metadata.ts'

/** A ClusterClaim of the pool. */
export interface Claim {
  readonly name: string
  /** Precondition of every write. */
  readonly resourceVersion: string
  readonly createdAt: number
  readonly deleting: boolean
  /** Since when; undefined while it is not being deleted. */
  readonly deletedAt: number | undefined
  /** Where the cluster is that it was given; undefined while it waits. */
  readonly namespace: string | undefined
  readonly queuePosition: number | undefined
  /** The condition Pending, as far as it says anything. */
  readonly pending: Pick<Condition, 'status' | 'reason' | 'message'> | undefined
}

export const claimOf = ({ metadata, spec, status }: ClusterClaim): Claim => ({
  name: metadata.name,
  resourceVersion: metadata.resourceVersion,
  createdAt: millisecondsOf(metadata.creationTimestamp),
  deleting: metadata.deletionTimestamp !== undefined,
  deletedAt: deletedAt(metadata),
  namespace: spec.namespace || undefined,
  queuePosition: status?.queuePosition,
  pending: findCondition(status?.conditions, 'Pending'),
})
