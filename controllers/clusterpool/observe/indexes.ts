/** Where a pass looks objects up: in caches that watches fill, or in lists that were read once for `muster pool plan`. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type ClusterDeployment, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { Namespace, RoleBinding } from '#apis/kubernetes.ts'
import type { Index } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'

type Entries<V> = Iterable<readonly [string, V]>
export type Lookup<V> = Pick<Index<string, V>, 'get'>

/** Pools, clusters, claims and customizations are asked for by `namespace/name`, namespaces by the uid of their pool. */
export interface PoolIndexes {
  readonly clustersOfPool: Lookup<ClusterDeployment>
  readonly cluster: Lookup<ClusterDeployment>
  readonly clustersInNamespace: Lookup<ClusterDeployment>
  /** Unclaimed ones of all pools whose API server is asked: since when it is `silent`, or `answers`. Milliseconds since the epoch. */
  readonly askedClusters: Lookup<number>
  readonly claimsOfPool: Lookup<ClusterClaim>
  readonly claim: Lookup<ClusterClaim>
  readonly customization: Lookup<ClusterDeploymentCustomization>
  readonly customizationsHeldBy: Lookup<ClusterDeploymentCustomization>
  readonly namespacesOfPool: Lookup<Namespace>
  /** By its name. */
  readonly namespace: Lookup<Namespace>
  readonly bindingsInNamespace: Lookup<RoleBinding>
}

const poolKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`

/** Under which keys each kind is found. */
export const indexEntries = {
  clustersOfPool: (cluster: ClusterDeployment): Entries<ClusterDeployment> => {
    const { clusterPoolRef } = cluster.spec
    return clusterPoolRef === undefined ? [] : [[poolKey(clusterPoolRef.namespace, clusterPoolRef.poolName), cluster]]
  },
  cluster: (cluster: ClusterDeployment): Entries<ClusterDeployment> => [[keyOf(cluster.metadata), cluster]],
  clustersInNamespace: (cluster: ClusterDeployment): Entries<ClusterDeployment> => [
    [cluster.metadata.namespace ?? '', cluster],
  ],
  askedClusters: ({ metadata, spec: { clusterPoolRef: pool }, status }: ClusterDeployment): Entries<number> => {
    const found = findCondition(status?.conditions, UNREACHABLE)
    const isOthers = pool === undefined || Boolean(pool.claimName) || metadata.deletionTimestamp !== undefined
    if (found === undefined || found.status === 'Unknown' || isOthers) return []
    return [[found.status === 'True' ? 'silent' : 'answers', Date.parse(found.lastTransitionTime)]]
  },
  claimsOfPool: (claim: ClusterClaim): Entries<ClusterClaim> => [
    [poolKey(claim.metadata.namespace, claim.spec.clusterPoolName), claim],
  ],
  claim: (claim: ClusterClaim): Entries<ClusterClaim> => [[keyOf(claim.metadata), claim]],
  customization: (customization: ClusterDeploymentCustomization): Entries<ClusterDeploymentCustomization> => [
    [keyOf(customization.metadata), customization],
  ],
  customizationsHeldBy: (customization: ClusterDeploymentCustomization): Entries<ClusterDeploymentCustomization> => {
    const pool = customization.status?.clusterPoolRef
    return pool === undefined ? [] : [[poolKey(pool.namespace, pool.name), customization]]
  },
  namespacesOfPool: (namespace: Namespace): Entries<Namespace> => {
    const uid = namespace.metadata.labels?.[POOL_LABELS.uid]
    return uid === undefined ? [] : [[uid, namespace]]
  },
  namespace: (namespace: Namespace): Entries<Namespace> => [[namespace.metadata.name, namespace]],
  bindingsInNamespace: (binding: RoleBinding): Entries<RoleBinding> => [[binding.metadata.namespace ?? '', binding]],
} as const
