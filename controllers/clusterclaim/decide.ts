/**
 * What becomes of a claim: how long it lives, what its conditions say, and what is done about it. Which cluster it gets is the
 * pool's to decide (controllers/clusterpool). CLAIM-3 to CLAIM-7. Times are milliseconds since the epoch.
 */
import type { ClusterClaimSpec } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { ConditionInput, KstatusInput } from '#operator/model/conditions.ts'
import { effectiveLifetime, expiryOf } from './lifetime.ts'

export interface Observed {
  readonly name: string
  readonly deleting: boolean
  readonly spec: Pick<ClusterClaimSpec, 'clusterPoolName' | 'lifetime' | 'namespace'>
  /** Undefined when there is no pool of that name. */
  readonly pool: ClaimsPool | undefined
  /** The cluster in the claim's namespace; undefined when there is none, or the claim waits. */
  readonly cluster: ClaimedCluster | undefined
}

interface ClaimsPool {
  readonly limits: ClusterPoolSpec['claimLifetime']
  readonly deleting: boolean
  /** Why it is not Ready, in one word; undefined when it is. */
  readonly notReady: string | undefined
}

export interface ClaimedCluster {
  /** The claim that it says it belongs to. */
  readonly claim: string | undefined
  readonly claimedAt: number | undefined
  readonly deleting: boolean
  /** It was marked as done with. */
  readonly marked: boolean
  readonly power: string | undefined
  /** What is awaited until it is as wanted, in the words of its own condition Ready; undefined when that is True. */
  readonly awaited: string | undefined
  /** The provider that its label names, which has written no kubeconfig for it; undefined when there is one, or no such label. */
  readonly lacksKubeconfigOf: string | undefined
  /** A user, or its `hibernateAfter`, wants it to sleep. */
  readonly hibernationDesired: boolean
  /** Of its API server, as far as it is known. */
  readonly apiURL: string | undefined
}

/** How the claim stands: it is Ready when its cluster can be used, or sleeps because that is wanted. */
export type KstatusSummary = Omit<KstatusInput, 'observedGeneration'>

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
  /** Undefined when the claim goes with this decision. */
  readonly kstatus: KstatusSummary | undefined
  readonly conditions: readonly ConditionInput[]
  /** The lifetime that holds; undefined: it lives until it is deleted. */
  readonly lifetime: ClusterClaimSpec['lifetime']
  readonly action: ClaimAction
  /** Of the cluster that the claim has; undefined while it has none, or none is known. */
  readonly apiURL: string | undefined
  /** When time alone changes the decision. */
  readonly recheckAt: Date | undefined
}

/** Decides about one claim. */
export const decide = (claim: Observed, now: Date): Decision => {
  const lifetime = effectiveLifetime(claim.spec.lifetime, claim.pool?.limits)
  const decide = (
    action: ClaimAction,
    kstatus: KstatusSummary | undefined,
    conditions: readonly ConditionInput[],
    recheckAt?: Date,
  ): Decision => ({ kstatus, conditions, lifetime, action, apiURL, recheckAt })
  const { cluster } = claim
  const isOurs = cluster?.claim === claim.name
  const apiURL = isOurs ? cluster.apiURL : undefined
  if (claim.deleting) {
    if (cluster === undefined || !isOurs) return decide('LetGo', undefined, [])
    const action = cluster.marked || cluster.deleting ? 'None' : 'MarkCluster'
    return decide(action, DELETING, [runningCondition('False', 'ClusterDeleting')])
  }
  if (claim.spec.namespace === undefined) return decideWaiting(claim, decide)
  if (cluster === undefined) return decide('None', GONE, [runningCondition('False', GONE.reason, GONE.message)])
  if (cluster.claim === undefined && !cluster.deleting && !cluster.marked)
    return decide('None', ASSIGNED, [pendingCondition('True', ASSIGNED.reason, ASSIGNED.message)])
  if (!isOurs) return decide('None', CONFLICT, [pendingCondition('True', CONFLICT.reason, CONFLICT.message)])
  if (cluster.deleting || cluster.marked)
    return decide('None', DELETING, [runningCondition('False', DELETING.reason, DELETING.message)])

  const conditions = [pendingCondition('False', 'ClusterClaimed', 'the cluster is claimed'), powerCondition(cluster)]
  const end =
    lifetime === undefined || cluster.claimedAt === undefined ? undefined : expiryOf(lifetime, cluster.claimedAt)
  const action = end !== undefined && end <= now ? 'DeleteClaim' : 'GrantSubjects'
  return decide(action, summarizeCluster(cluster), conditions, action === 'DeleteClaim' ? undefined : end)
}

/** The API server did not take what was sent: the finalizer of the claim, or the Role or the RoleBinding of its subjects. */
export interface WriteRejection {
  readonly status: number
  /** In the API server's words. */
  readonly message: string
}

/** 400 and 422: what was sent is wrong; 401 and 403: the sender may not. Trying again alone changes neither. */
const PERMANENT_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 422])

/** The decision when its subjects could not be let in, or out again: the cluster is there, and whom the claim is for can't use it. */
export const withGrantRejection = (
  decision: Decision,
  { spec }: Observed,
  { status, message }: WriteRejection,
): Decision => ({
  ...decision,
  kstatus: {
    type: PERMANENT_STATUSES.has(status) ? 'Stalled' : 'Reconciling',
    reason: 'SubjectsNotGranted',
    message: `who may use the cluster is not as spec.subjects says: ${message}; let the manager’s ServiceAccount write Roles and RoleBindings in namespace ${spec.namespace}, or correct spec.subjects: it is tried again`,
  },
})

/** The decision when nothing can be done for a claim, because its finalizer can't be added to it. CLAIM-8. */
export const withFinalizerRejection = (decision: Decision, { status, message }: WriteRejection): Decision => ({
  ...decision,
  kstatus: {
    type: PERMANENT_STATUSES.has(status) ? 'Stalled' : 'Reconciling',
    reason: 'FinalizerNotAdded',
    message: `the finalizer, without which the cluster would outlive its claim, can’t be added: ${message}; it is tried again`,
  },
})

const DELETING: KstatusSummary = {
  type: 'Reconciling',
  reason: 'ClusterDeleting',
  message: 'the cluster is being deleted',
}
const GONE: KstatusSummary = {
  type: 'Stalled',
  reason: 'ClusterDeleted',
  message: 'the cluster is gone: delete the claim',
}
const ASSIGNED: KstatusSummary = {
  type: 'Reconciling',
  reason: 'ClusterAssigned',
  message: 'Cluster assigned to ClusterClaim, awaiting claim',
}
const CONFLICT: KstatusSummary = {
  type: 'Reconciling',
  reason: 'AssignmentConflict',
  message: 'the cluster is another claim’s; it is parted from this one',
}

/**
 * Without a pool no other controller would write Pending; with one the pool writes it, with the place in the queue, which only it
 * knows. Neither is Stalled: a claim may be declared before its pool.
 */
const decideWaiting = (
  { spec, pool }: Observed,
  decide: (action: ClaimAction, kstatus: KstatusSummary, conditions: readonly ConditionInput[]) => Decision,
): Decision => {
  if (pool === undefined) {
    const message = `there is no ClusterPool ${spec.clusterPoolName} in this namespace: create it, or claim from another one`
    const reason = 'PoolNotFound'
    return decide('None', { type: 'Reconciling', reason, message }, [pendingCondition('True', reason, message)])
  }
  // The word alone: the sentence is for those who run the pool, and may read it.
  const why = pool.notReady === undefined ? '' : `, which says ${pool.notReady}`
  const message = `waits for a cluster of the pool ${spec.clusterPoolName}${why}`
  return decide('None', { type: 'Reconciling', reason: 'NoClusters', message }, [])
}

const summarizeCluster = (cluster: ClaimedCluster): KstatusSummary => {
  if (cluster.power === 'Hibernating' && cluster.hibernationDesired)
    return { type: 'Ready', reason: 'Hibernating', message: 'the cluster sleeps, as was wanted' }
  const { status, reason, message } = powerCondition(cluster)
  return { type: status === 'True' ? 'Ready' : 'Reconciling', reason, message }
}

const powerCondition = ({ power, awaited, lacksKubeconfigOf }: ClaimedCluster): ConditionInput => {
  if (power === 'Running')
    return lacksKubeconfigOf === undefined
      ? runningCondition('True', 'Running', 'the cluster runs')
      : runningCondition('False', 'NoKubeconfig', missingKubeconfig(lacksKubeconfigOf))
  const why = awaited === undefined ? '' : `: ${awaited}`
  return runningCondition('False', 'Resuming', `the cluster is ${power ?? 'on the way'}${why}`)
}

/** Adapters that have nothing to do with a cluster are done with it at once, so one that no provider makes is soon said to run. */
const missingKubeconfig = (provider: string): string =>
  `the cluster has no kubeconfig: the provider ${provider}, which its label names, has written none; is it installed, and the label right?`

const pendingCondition = (status: ConditionInput['status'], reason: string, message: string): ConditionInput => ({
  type: 'Pending',
  status,
  reason,
  message,
})

const runningCondition = (status: ConditionInput['status'], reason: string, message = ''): ConditionInput => ({
  type: 'ClusterRunning',
  status,
  reason,
  message,
})
