/**
 * What becomes of a claim: how long it lives, what its conditions say, and what is done about it. Which cluster it gets is the
 * pool's to decide (controllers/clusterpool). Anchors hive-clusterpool 2.5, W19, W20. Times are milliseconds since the epoch.
 */
import type { ClusterClaimSpec } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { ConditionClaim } from '#operator/model/conditions.ts'
import { endOf, lifetimeOf } from './lifetime.ts'

export interface Observed {
  readonly name: string
  readonly deleting: boolean
  readonly spec: Pick<ClusterClaimSpec, 'clusterPoolName' | 'lifetime' | 'namespace'>
  /** Undefined when there is no pool of that name. */
  readonly pool: { readonly limits: ClusterPoolSpec['claimLifetime']; readonly deleting: boolean } | undefined
  /** The cluster in the claim's namespace; undefined when there is none, or the claim waits. */
  readonly cluster: ClaimedCluster | undefined
}

export interface ClaimedCluster {
  /** The claim that it says it belongs to. */
  readonly claim: string | undefined
  readonly claimedAt: number | undefined
  readonly deleting: boolean
  /** It was marked as done with. */
  readonly marked: boolean
  readonly power: string | undefined
}

export type ClaimAction =
  | 'None'
  /** Its time is over. */
  | 'DeleteClaim'
  /** The claim goes: tell the pool that the cluster is done with. */
  | 'MarkCluster'
  /** The cluster is its own: let the subjects in. */
  | 'GrantSubjects'
  /** The claim goes, and so did its cluster: take what was granted, then the finalizer away. */
  | 'LetGo'

export interface Decision {
  readonly conditions: readonly ConditionClaim[]
  /** The lifetime that holds; undefined: it lives until it is deleted. */
  readonly lifetime: ClusterClaimSpec['lifetime']
  readonly action: ClaimAction
  /** When time alone changes the decision. */
  readonly lookAgainAt: Date | undefined
}

/** Decides about one claim. */
export const decideClaim = (claim: Observed, now: Date): Decision => {
  const lifetime = lifetimeOf(claim.spec.lifetime, claim.pool?.limits)
  const decide = (action: ClaimAction, conditions: readonly ConditionClaim[], lookAgainAt?: Date) => ({
    conditions,
    lifetime,
    action,
    lookAgainAt,
  })
  const { cluster } = claim
  const isOurs = cluster?.claim === claim.name
  if (claim.deleting) {
    if (cluster === undefined || !isOurs) return decide('LetGo', [])
    return decide(cluster.marked || cluster.deleting ? 'None' : 'MarkCluster', [running('False', 'ClusterDeleting')])
  }
  if (claim.spec.namespace === undefined) return decide('None', waiting(claim))
  if (cluster === undefined)
    return decide('None', [running('False', 'ClusterDeleted', 'the cluster is gone: delete the claim')])
  if (cluster.claim === undefined && !cluster.deleting && !cluster.marked)
    return decide('None', [pending('True', 'ClusterAssigned', 'Cluster assigned to ClusterClaim, awaiting claim')])
  if (!isOurs)
    return decide('None', [
      pending('True', 'AssignmentConflict', 'the cluster is another claim’s; it is parted from this one'),
    ])
  if (cluster.deleting || cluster.marked)
    return decide('None', [running('False', 'ClusterDeleting', 'the cluster is being deleted')])

  const conditions = [pending('False', 'ClusterClaimed', 'the cluster is claimed'), powerOf(cluster)]
  const end = lifetime === undefined || cluster.claimedAt === undefined ? undefined : endOf(lifetime, cluster.claimedAt)
  if (end !== undefined && end <= now) return decide('DeleteClaim', conditions)
  return decide('GrantSubjects', conditions, end)
}

/** The pool itself says the place in the queue; only it knows. Without a pool nobody else would say anything. */
const waiting = ({ spec, pool }: Observed): readonly ConditionClaim[] =>
  pool === undefined
    ? [
        pending(
          'True',
          'PoolNotFound',
          `there is no ClusterPool ${spec.clusterPoolName} in this namespace: create it, or claim from another one`,
        ),
      ]
    : []

const powerOf = ({ power }: ClaimedCluster): ConditionClaim =>
  power === 'Running'
    ? running('True', 'Running', 'the cluster runs')
    : running('False', 'Resuming', `the cluster is ${power ?? 'on the way'}`)

const pending = (status: ConditionClaim['status'], reason: string, message: string): ConditionClaim => ({
  type: 'Pending',
  status,
  reason,
  message,
})

const running = (status: ConditionClaim['status'], reason: string, message = ''): ConditionClaim => ({
  type: 'ClusterRunning',
  status,
  reason,
  message,
})
