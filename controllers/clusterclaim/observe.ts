/** What a decision about a claim rests on, read from caches. */
import { adminKubeconfigName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { PROVIDER_LABEL, REMOVE_ANNOTATIONS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { Role, RoleBinding } from '#apis/kubernetes.ts'
import type { Index } from '#operator/index.ts'
import { type Condition, findCondition } from '#operator/model/conditions.ts'
import type { ClaimedCluster, Observed } from './decide.ts'

/** Where a claim looks up what it is about. */
export interface ClaimIndexes {
  /** By `namespace/name`. */
  readonly pool: Index<string, ClusterPool>
  /** By namespace. */
  readonly clusters: Index<string, ClusterDeployment>
  readonly roles: Index<string, Role>
  readonly bindings: Index<string, RoleBinding>
}

/** What was read of a claim, as plain values and as the objects that writes need. */
export interface ClaimObservation {
  readonly observed: Observed
  /** In the claim's namespace; undefined when there is none, or the claim waits. */
  readonly cluster: ClusterDeployment | undefined
}

/** Reads what the caches have about a claim. */
export const observe = (claim: ClusterClaim, indexes: ClaimIndexes): ClaimObservation => {
  const { metadata, spec } = claim
  const cluster = findCluster(claim, indexes)
  const [pool] = indexes.pool.get(`${metadata.namespace}/${spec.clusterPoolName}`)
  const observed: Observed = {
    name: metadata.name,
    deleting: metadata.deletionTimestamp !== undefined,
    spec,
    pool: pool && {
      limits: pool.spec.claimLifetime,
      deleting: pool.metadata.deletionTimestamp !== undefined,
      notReady: unready(pool.status?.conditions)?.reason,
    },
    cluster: cluster && describeCluster(cluster),
  }
  return { observed, cluster }
}

/** The pool's cluster in the namespace that the claim names; whose it is, its own reference says. */
const findCluster = ({ spec, metadata }: ClusterClaim, { clusters }: ClaimIndexes): ClusterDeployment | undefined =>
  clusters
    .get(spec.namespace ?? '')
    .find(
      ({ spec: { clusterPoolRef } }) =>
        clusterPoolRef?.namespace === metadata.namespace && clusterPoolRef?.poolName === spec.clusterPoolName,
    )

const describeCluster = (cluster: ClusterDeployment): ClaimedCluster => {
  const { metadata, spec, status } = cluster
  const { claimName, claimedTimestamp } = spec.clusterPoolRef ?? {}
  return {
    claim: claimName,
    claimedAt: claimedTimestamp === undefined ? undefined : Date.parse(claimedTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    marked: isMarked(metadata.annotations),
    power: status?.powerState,
    awaited: unready(status?.conditions)?.message || undefined,
    lacksKubeconfigOf: adminKubeconfigName(cluster) === undefined ? metadata.labels?.[PROVIDER_LABEL] : undefined,
    hibernationDesired: spec.powerState === 'Hibernating',
    apiURL: typeof status?.apiURL === 'string' ? status.apiURL : undefined,
  }
}

/** The condition Ready, unless it is True. */
const unready = (conditions: readonly Condition[] = []): Condition | undefined => {
  const ready = findCondition(conditions, 'Ready')
  return ready?.status === 'True' ? undefined : ready
}

const isMarked = (annotations: Readonly<Record<string, string>> = {}): boolean =>
  REMOVE_ANNOTATIONS.some((annotation) => annotations[annotation] === 'true')
