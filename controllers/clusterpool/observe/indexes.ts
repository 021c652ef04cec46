/** Where a pass looks objects up: in caches that watches fill, or in lists that were read once for `muster pool plan`. */
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type ClusterDeployment, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import type { ClusterRole, Namespace, RoleBinding } from '#apis/kubernetes.ts'
import type { Index } from '#operator/index.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { ADMIN_BINDING, ADMIN_ROLE } from '../decide/admin-bindings.ts'
import { type ProviderRole, providerRoleOf } from '../model/provider.ts'

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
  /** All of them, by `PROVIDER_ROLES`. */
  readonly providerRoles: Lookup<ProviderRole>
}

/** Of a cluster that says to be of a pool. */
interface AskedCluster {
  readonly namespace: string
  readonly since: number
}

/**
 * What others write that looks like a cluster of a pool would say for all pools how many fall silent, or answer: those in the namespaces of clusters count.
 * POOL-107.
 * @param asked an index of `indexEntries.askedClusters` @param namespaces those with the label of a pool, by name
 */
export const askedInPools = (asked: Lookup<AskedCluster>, namespaces: Lookup<Namespace>): Lookup<number> => ({
  get: (key) =>
    asked
      .get(key)
      .filter(({ namespace }) => namespaces.get(namespace).length > 0)
      .map(({ since }) => since),
})

/** Where the rights of all providers are found. */
export const PROVIDER_ROLES = 'all'

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
  askedClusters: ({ metadata, spec: { clusterPoolRef: pool }, status }: ClusterDeployment): Entries<AskedCluster> => {
    const found = findCondition(status?.conditions, UNREACHABLE)
    const isOthers = pool === undefined || Boolean(pool.claimName) || metadata.deletionTimestamp !== undefined
    if (found === undefined || found.status === 'Unknown' || isOthers) return []
    const since = Date.parse(found.lastTransitionTime)
    return [[found.status === 'True' ? 'silent' : 'answers', { namespace: metadata.namespace ?? '', since }]]
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
  providerRoles: (role: ClusterRole): Entries<ProviderRole> => {
    const found = providerRoleOf(role)
    return found === undefined ? [] : [[PROVIDER_ROLES, found]]
  },
} as const

/** Objects of a kind, by keys that are made of them: the cache of a watch, or a list. */
export interface Indexable<O> {
  index<V>(name: string, of: (object: O) => Entries<V>): Lookup<V>
}

/** What a pass looks up beside pools. */
interface PoolCaches {
  readonly clusters: Indexable<ClusterDeployment>
  readonly claims: Indexable<ClusterClaim>
  readonly customizations: Indexable<ClusterDeploymentCustomization>
  readonly namespaces: Indexable<Namespace>
  readonly bindings: Indexable<RoleBinding>
  readonly roles: Indexable<ClusterRole>
}

/** The lookups of a pass, in the caches of the watches or in lists that were read once. */
export const indexCaches = ({
  clusters,
  claims,
  customizations,
  namespaces,
  bindings,
  roles,
}: PoolCaches): PoolIndexes => {
  const namespace = namespaces.index('namespace-by-name', indexEntries.namespace)
  return {
    clustersOfPool: clusters.index('clusters-of-pool', indexEntries.clustersOfPool),
    cluster: clusters.index('cluster', indexEntries.cluster),
    clustersInNamespace: clusters.index('clusters-in-namespace', indexEntries.clustersInNamespace),
    askedClusters: askedInPools(clusters.index('asked-clusters', indexEntries.askedClusters), namespace),
    claimsOfPool: claims.index('claims-of-pool', indexEntries.claimsOfPool),
    claim: claims.index('claim', indexEntries.claim),
    customization: customizations.index('customization-by-name', indexEntries.customization),
    customizationsHeldBy: customizations.index('customizations-held-by', indexEntries.customizationsHeldBy),
    namespacesOfPool: namespaces.index('namespaces-of-pool', indexEntries.namespacesOfPool),
    namespace,
    bindingsInNamespace: bindings.index('bindings-in-namespace', indexEntries.bindingsInNamespace),
    providerRoles: roles.index('provider-roles', indexEntries.providerRoles),
  }
}

/** The customizations that a pool's spec or status is about. */
export const customizationNames = ({ spec, status }: ClusterPool): readonly string[] => [
  ...new Set([
    ...(spec.inventory?.ClusterDeploymentCustomizations ?? []).map(({ name }) => name),
    ...(spec.customizationRef === undefined ? [] : [spec.customizationRef.name]),
    ...Object.keys(status?.inventory ?? {}),
  ]),
]

/** Bindings of other roles are many, and nothing about them matters here. */
export const trimUnrelatedBinding = (binding: RoleBinding): RoleBinding => {
  const isRelated =
    binding.roleRef.name === ADMIN_ROLE ||
    binding.metadata.name === ADMIN_BINDING ||
    binding.metadata.labels?.[PROVIDER_ROLE_LABEL] !== undefined
  if (isRelated) return binding
  const { apiVersion, kind, roleRef } = binding
  const { name, namespace, uid, resourceVersion } = binding.metadata
  return {
    apiVersion,
    kind,
    roleRef,
    spec: undefined,
    metadata: { name, uid, resourceVersion, ...(namespace && { namespace }) },
  }
}
