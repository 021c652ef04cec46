/** What a pass of a pool looks at, as plain data: nothing here knows where it was read. Times are milliseconds since the epoch. */

import type { Customization } from '#apis/hive.openshift.io/model/customization.ts'
import type { InstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import type { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { type ClusterDeployment, QUOTA_EXCEEDED, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import {
  CUSTOMIZATION_VERSION_ANNOTATION,
  LEASE_FINALIZER,
  REMOVE_ANNOTATIONS,
  RESTORE_LABEL,
  VERSION_ANNOTATION,
} from '#apis/hive.openshift.io/v1/labels.ts'
import type { Subject } from '#apis/kubernetes.ts'
import { type Condition, findCondition, isTrue } from '#operator/model/conditions.ts'
import type { ObjectMeta } from '#operator/model/resource.ts'
import { byAge } from './order.ts'
import type { CreationFailure, CustomizationRejection, PoolRejection } from './rejection.ts'

export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** A ClusterDeployment of the pool. */
export interface Cluster extends NamespacedName {
  readonly uid: string
  /** Precondition of every write and of the deletion: a claim may have taken it meanwhile. */
  readonly resourceVersion: string
  readonly createdAt: number
  readonly deleting: boolean
  /** It comes from a backup, and its claim may come later. */
  readonly restoring: boolean
  /** It is being deleted, and nothing but its lease holds it any more. */
  readonly deprovisioned: boolean
  /** Its user is done with it. */
  readonly marked: boolean
  readonly claim: string | undefined
  /** The pool version that it was made with; undefined when none was written. */
  readonly version: string | undefined
  /** The customization that it uses, and that one's version. */
  readonly customization: string | undefined
  readonly customizationVersion: string | undefined
  readonly installed: boolean
  /** What was asked for, and what is. */
  readonly desiredPower: PowerState
  readonly power: string | undefined
  /** Why its installation was given up; undefined when it was not. */
  readonly stopped: string | undefined
  /** For how long its installation has been watched, in milliseconds; undefined when it is installed, or nothing is told of it. POOL-48. */
  readonly installWatched: number | undefined
  /** How it gets on, in words of its condition Ready. */
  readonly progress: string | undefined
  /** Its installation waits for a quota that is used up: in the provider's words. POOL-70 */
  readonly quota: string | undefined
  /** Since when it wakes up; undefined when it doesn't. */
  readonly resumingSince: number | undefined
  /** Its API server, which was reached before, can't be reached: since when, in words, and for how many milliseconds it was asked in vain. POOL-64 */
  readonly unreachable: { readonly since: string; readonly silentMs: number } | undefined
}

export type PowerState = ClusterDeployment['spec']['powerState']

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

/** A ClusterDeploymentCustomization of the pool's namespace, as something to lease. */
export interface CustomizationState {
  readonly name: string
  /** Changes whenever its spec does, and when it is made anew under the same name. */
  readonly version: string
  /** For the conditional write that takes or releases the lease. */
  readonly resourceVersion: string
  readonly deleting: boolean
  /** It comes from a backup: the cluster that leases it may come later. */
  readonly restoring: boolean
  /** It has the finalizer of a lease. */
  readonly protected: boolean
  /** The condition Available; undefined before one was written. */
  readonly available: boolean | undefined
  /** Since when that condition is what it is. */
  readonly since: number | undefined
  readonly cluster: NamespacedName | undefined
  readonly pool: NamespacedName | undefined
  readonly patches: Customization
  /** The patches that were last applied, as `formatAppliedPatches` has them. */
  readonly applied: string | undefined
  /** Why it is out of service, and whether its unclaimed cluster goes; undefined when it is in service. */
  readonly cordoned: ClusterDeploymentCustomization['spec']['cordoned']
}

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
  /** When the namespace of the pool and its claims was deleted; undefined when it was not, or nothing of it is being deleted. */
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
  /** The pool's template of install-configs; undefined when it names none. */
  readonly template: InstallConfig | undefined
  /** The users that are to administer the clusters of the pool. */
  readonly admins: readonly Subject[]
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
  readonly template?: InstallConfig
  readonly admins?: readonly Subject[]
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
    template: read.template,
    admins: read.admins ?? [],
    namespaces: read.namespaces ?? [],
  }
}

/** Does the cluster say that it is of the pool? */
export const belongsToPool = ({ metadata }: ClusterPool, { spec: { clusterPoolRef } }: ClusterDeployment): boolean =>
  clusterPoolRef?.poolName === metadata.name && clusterPoolRef.namespace === namespaceOf(metadata)

/** `namespace/name`. */
export const keyOf = ({ namespace, name }: NamespacedName): string => `${namespace}/${name}`

export const isSame = (a: NamespacedName, b: NamespacedName): boolean =>
  a.name === b.name && a.namespace === b.namespace

/** It comes from a backup, whose other objects may come later: POOL-52. */
export const isRestoring = ({ labels }: ObjectMeta): boolean => labels?.[RESTORE_LABEL] === 'true'

const clusterOf = ({ metadata, spec, status }: ClusterDeployment): Cluster => {
  const deleting = metadata.deletionTimestamp !== undefined
  const stopped = findCondition(status?.conditions, 'ProvisionStopped')
  const hibernating = findCondition(status?.conditions, 'Hibernating')
  const ready = findCondition(status?.conditions, 'Ready')
  return {
    name: metadata.name,
    namespace: namespaceOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdAt: millisecondsOf(metadata.creationTimestamp),
    deleting,
    restoring: isRestoring(metadata),
    deprovisioned: deleting && (metadata.finalizers ?? []).every((finalizer) => finalizer === LEASE_FINALIZER),
    marked: REMOVE_ANNOTATIONS.some((annotation) => metadata.annotations?.[annotation] === 'true'),
    claim: spec.clusterPoolRef?.claimName || undefined,
    version: metadata.annotations?.[VERSION_ANNOTATION] || undefined,
    customization: spec.clusterPoolRef?.clusterDeploymentCustomization?.name,
    customizationVersion: metadata.annotations?.[CUSTOMIZATION_VERSION_ANNOTATION],
    installed: spec.installed,
    desiredPower: spec.powerState,
    power: status?.powerState,
    stopped: stopped?.status === 'True' ? stopped.message || stopped.reason : undefined,
    installWatched:
      spec.installed || status?.installWatch === undefined ? undefined : status.installWatch.seconds * 1_000,
    progress: ready?.message,
    quota: !spec.installed && ready?.reason === QUOTA_EXCEEDED ? ready.message : undefined,
    resumingSince:
      hibernating?.reason === 'ResumingOrRunning' ? millisecondsOf(hibernating.lastTransitionTime) : undefined,
    unreachable: unreachableIn(metadata.uid, status),
  }
}

const unreachableIn = (uid: string, status: ClusterDeployment['status']): Cluster['unreachable'] => {
  const found = findCondition(status?.conditions, UNREACHABLE)
  if (found?.status !== 'True') return undefined
  const { reachability } = status ?? {}
  const silentMs = reachability?.uid === uid ? reachability.silentSeconds * 1_000 : 0
  return { since: found.lastTransitionTime, silentMs }
}

const claimOf = ({ metadata, spec, status }: ClusterClaim): Claim => ({
  name: metadata.name,
  resourceVersion: metadata.resourceVersion,
  createdAt: millisecondsOf(metadata.creationTimestamp),
  deleting: metadata.deletionTimestamp !== undefined,
  deletedAt: deletedAt(metadata),
  namespace: spec.namespace || undefined,
  queuePosition: status?.queuePosition,
  pending: findCondition(status?.conditions, 'Pending'),
})

const customizationStateOf = ({ metadata, spec, status }: ClusterDeploymentCustomization): CustomizationState => {
  const available = findCondition(status?.conditions, 'Available')
  const { installConfigPatches, clusterDeploymentSpecPatches } = spec
  const patches: Customization = {
    name: metadata.name,
    ...(installConfigPatches !== undefined && { installConfigPatches }),
    ...(clusterDeploymentSpecPatches !== undefined && { clusterDeploymentSpecPatches }),
  }
  return {
    name: metadata.name,
    version: `${metadata.generation ?? 0}.${metadata.uid}`,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    restoring: isRestoring(metadata),
    protected: metadata.finalizers?.includes(LEASE_FINALIZER) ?? false,
    available: available === undefined ? undefined : isTrue(status?.conditions, 'Available'),
    since: available === undefined ? undefined : millisecondsOf(available.lastTransitionTime),
    cluster: status?.clusterDeploymentRef,
    pool: status?.clusterPoolRef,
    patches,
    applied: status?.lastAppliedConfiguration,
    cordoned: spec.cordoned,
  }
}

/** Of the customization for all clusters of the pool; empty when there is none. */
export const sharedCustomizationVersion = ({
  pool,
  customizations,
}: Pick<Observed, 'pool' | 'customizations'>): string =>
  customizations.get(pool.spec.customizationRef?.name ?? '')?.version ?? ''

const namespaceOf = ({ namespace }: ObjectMeta): string => namespace ?? ''

/** Milliseconds since the epoch; undefined when it is not being deleted. */
export const deletedAt = ({ deletionTimestamp }: ObjectMeta): number | undefined =>
  deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp)

/** An object that the API server has not stamped yet is as old as can be: it was made before this pass. */
const millisecondsOf = (text: string | undefined): number => (text === undefined ? 0 : Date.parse(text))

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
  /** Subjects of the binding that the pool wrote there; undefined when there is none. */
  readonly admins: readonly Subject[] | undefined
}
