/** What a pass of a pool looks at, as plain data: nothing here knows where it was read. Times are milliseconds since the epoch. */

import type { InstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Subject } from '#apis/kubernetes.ts'
import type { ObjectMeta } from '#operator/model/resource.ts'
import { type Claim, claimOf } from './claim.ts'
import { type Cluster, clusterOf } from './cluster.ts'
import { type CustomizationState, customizationStateOf } from './customization-state.ts'
import { keyOf, type NamespacedName, namespaceOf } from './names.ts'
import { byAge } from './order.ts'
import type { ProviderBinding, ProviderRole } from './provider.ts'
import type { CreationFailure, CustomizationRejection, PoolRejection } from './rejection.ts'

/** A cluster whose deletion is inferred from what is not seen, or no longer works, and why. */
export interface InferredClusterDeletion {
  /** The uid of the cluster. */
  readonly key: string
  readonly revision: string
  readonly name: string
  readonly why: string
  /** Since when its API server is silent, when that is why; milliseconds since the epoch. */
  readonly silentSince?: number
}

/** Deletions that wait for a person. */
export interface HeldDeletions {
  readonly deletions: readonly InferredClusterDeletion[]
  /** The value by which a person releases them. */
  readonly release: string
  /** So many would not have been held. */
  readonly limit: number
  /** Why even fewer are held; undefined when they are too many for this pool. */
  readonly doubt?: string | undefined
}

/** Whether the ClusterImageSet that a pool names is there, where Hive's kind is served at all. */
export type ImageSetState = 'Found' | 'Missing' | 'NotServed'

export interface Observed {
  readonly pool: ClusterPool
  readonly namespace: string
  readonly clusters: readonly Cluster[]
  readonly claims: readonly Claim[]
  /** By name. */
  readonly customizations: ReadonlyMap<string, CustomizationState>
  /** Clusters that leases name and that a GET did not find, as `namespace/name`. */
  readonly absent: ReadonlySet<string>
  /** Claims that clusters name and that a GET did not find, with the time since when; milliseconds since the epoch. */
  readonly absentClaims: ReadonlyMap<string, number>
  /** When the namespace of the pool and its claims was deleted, 0 when it is gone; undefined when it was not, or nothing of it is being deleted. */
  readonly namespaceDeletedAt: number | undefined
  /** Deletions that no person asked for and that are too many at once (POOL-53); undefined when there are none. */
  readonly heldDeletions: HeldDeletions | undefined
  /** The brake let something through that still counts, or lets it through now: the status keeps its record. */
  readonly isBrakeCounting: boolean
  /** Customizations whose cluster the API server refused, by name. */
  readonly rejectedCustomizations: ReadonlyMap<string, CustomizationRejection>
  /** Clusters that could not be made, by the name of their customization; empty for a pool without inventory. */
  readonly creationFailures: ReadonlyMap<string, CreationFailure>
  /** How it refused the clusters of a pool without inventory. */
  readonly poolRejection: PoolRejection | undefined
  /** Clusters without a lease whose making failed half-way: they are made before others, so that nothing is begun twice. */
  readonly unfinishedClusters: readonly NamespacedName[]
  /** What the pool needs and has not, in words: "cluster image set: openshift-v4.20". Sorted. */
  readonly missing: readonly string[]
  readonly imageSet: ImageSetState
  /** The pool's template of install-configs; undefined when it names none. */
  readonly template: InstallConfig | undefined
  /** The users that are to administer the clusters of the pool. */
  readonly admins: readonly Subject[]
  /** The rights of providers beside their clusters. */
  readonly providerRoles: readonly ProviderRole[]
  /** The namespaces that carry the pool's uid. */
  readonly namespaces: readonly PoolNamespace[]
}

/** What the controller read; lists in any order. Objects of other pools or namespaces are left out here. */
export interface PoolObjects {
  readonly pool: ClusterPool
  readonly clusters: readonly ClusterDeployment[]
  readonly claims: readonly ClusterClaim[]
  readonly customizations: readonly ClusterDeploymentCustomization[]
  readonly absent?: readonly NamespacedName[]
  readonly absentClaims?: ReadonlyMap<string, number>
  readonly namespaceDeletedAt?: number | undefined
  readonly heldDeletions?: HeldDeletions | undefined
  readonly isBrakeCounting?: boolean
  readonly refused?: ReadonlyMap<string, CustomizationRejection>
  readonly creationFailures?: ReadonlyMap<string, CreationFailure>
  readonly refusal?: PoolRejection | undefined
  readonly begun?: readonly NamespacedName[]
  readonly missing?: readonly string[]
  /** Not served when absent. */
  readonly imageSet?: ImageSetState
  readonly template?: InstallConfig
  readonly admins?: readonly Subject[]
  readonly providerRoles?: readonly ProviderRole[]
  readonly namespaces?: readonly PoolNamespace[]
}

/** Reads objects into what a pass decides on. */
export const toObserved = (read: PoolObjects): Observed => {
  const { pool } = read
  const namespace = namespaceOf(pool.metadata)
  const isHere = ({ metadata }: { metadata: ObjectMeta }) => namespaceOf(metadata) === namespace
  return {
    pool,
    namespace,
    clusters: read.clusters
      .filter((cluster) => belongsToPool(pool, cluster))
      .map(clusterOf)
      .toSorted(byAge),
    claims: read.claims
      .filter((claim) => isHere(claim) && claim.spec.clusterPoolName === pool.metadata.name)
      .map(claimOf)
      .toSorted(byAge),
    customizations: new Map(
      read.customizations.filter(isHere).map((object) => [object.metadata.name, customizationStateOf(object)]),
    ),
    absent: new Set(read.absent?.map(keyOf)),
    absentClaims: read.absentClaims ?? new Map(),
    namespaceDeletedAt: read.namespaceDeletedAt,
    heldDeletions: read.heldDeletions,
    isBrakeCounting: read.isBrakeCounting ?? false,
    rejectedCustomizations: read.refused ?? new Map(),
    creationFailures: read.creationFailures ?? new Map(),
    poolRejection: read.refusal,
    unfinishedClusters: read.begun ?? [],
    missing: read.missing?.toSorted() ?? [],
    imageSet: read.imageSet ?? 'NotServed',
    template: read.template,
    admins: read.admins ?? [],
    providerRoles: read.providerRoles ?? [],
    namespaces: read.namespaces ?? [],
  }
}

/** Does the cluster say that it is of the pool? */
export const belongsToPool = ({ metadata }: ClusterPool, { spec: { clusterPoolRef } }: ClusterDeployment): boolean =>
  clusterPoolRef?.poolName === metadata.name && clusterPoolRef.namespace === namespaceOf(metadata)

/** Of the customization for all clusters of the pool; empty when there is none. */
export const sharedCustomizationVersion = ({
  pool,
  customizations,
}: Pick<Observed, 'pool' | 'customizations'>): string =>
  customizations.get(pool.spec.customizationRef?.name ?? '')?.version ?? ''

/** A namespace that carries the uid of the pool. */
export interface PoolNamespace {
  readonly name: string
  readonly uid: string
  readonly createdAt: number
  readonly terminating: boolean
  /** It carries the uid of an earlier pool of this name, from before a restore: its admins are let in, and it is never deleted. */
  readonly isOfEarlierPool: boolean
  /** A ClusterDeployment is in it, whosever it is. */
  readonly isUsed: boolean
  /** A ClusterDeployment was seen in it since this process began. */
  readonly wasUsed: boolean
  /** Subjects of the binding that the pool wrote there; undefined when there is none. */
  readonly admins: readonly Subject[] | undefined
  /** The role of that binding; an earlier release gave another one. */
  readonly adminRole?: string | undefined
  /** Those that a provider's account is let in by, or that have the name of one. */
  readonly providerBindings: readonly ProviderBinding[]
}
