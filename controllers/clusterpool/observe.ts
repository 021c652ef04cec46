/** Everything that a pass looks at, read from caches, from what was written lately, and where those can't tell from the API server. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS, PROVIDER_ROLE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, type RoleBinding } from '#apis/kubernetes.ts'
import type { Api } from '#operator/index.ts'
import { isNamespaceOf } from '#operator/model/namespace.ts'
import { keyOf, type Resource } from '#operator/model/resource.ts'
import { ADMIN_BINDING, ADMIN_ROLE } from './decide/admin-bindings.ts'
import { deletedAt } from './model/metadata.ts'
import type { NamespacedName } from './model/names.ts'
import type { PoolNamespace, PoolObjects } from './model/observed.ts'
import type { Dependencies } from './observe/dependencies.ts'
import { type PoolIndexes, PROVIDER_ROLES } from './observe/indexes.ts'
import { findOwnClusters, isNamespaceOfClusters, isNamespaceOfEarlierPool } from './observe/own-clusters.ts'
import type { Rejections } from './observe/rejections.ts'
import type { WriteCache } from './observe/write-cache.ts'

export interface ObserveSources {
  readonly api: Api
  readonly indexes: PoolIndexes
  readonly writeCache: WriteCache
  readonly rejections: Rejections
  readonly unfinishedClusters: ReadonlyMap<string, NamespacedName>
  /** Written to: since when claims that clusters name are not there. */
  readonly absentClaims: Map<string, number>
  /** Written to: the uids of namespaces in which a cluster was seen. */
  readonly usedNamespaces: Set<string>
  readonly now: Date
}

/** @throws ApiError, NetworkError */
export const readPoolObjects = async (
  pool: ClusterPool,
  { missing, imageSet, template }: Dependencies,
  reading: ObserveSources,
): Promise<PoolObjects> => {
  const { indexes, writeCache } = reading
  await confirmOverdueWrites(reading)
  const key = keyOf(pool.metadata)
  const naming = writeCache.merge(ClusterDeployment, indexes.clustersOfPool.get(key), reading.now)
  const made = new Map(ownNamespaces(pool, reading).map((namespace) => [namespace.metadata.name, namespace]))
  const cached = (name: string) => made.get(name) ?? indexes.namespace.get(name)[0]
  const clusters = await findOwnClusters(pool, naming, reading.api, cached)
  const claims = writeCache.merge(ClusterClaim, indexes.claimsOfPool.get(key), reading.now)
  const customizations = findCustomizations(pool, clusters, reading)
  return {
    pool,
    clusters,
    claims,
    customizations,
    absent: await findAbsentClusters(clusters, customizations, reading),
    absentClaims: await findAbsentClaims(pool, clusters, claims, reading),
    namespaceDeletedAt: await findNamespaceDeletion(pool, claims, reading),
    refused: reading.rejections.ofCustomizations,
    creationFailures: reading.rejections.ofCreations,
    refusal: reading.rejections.ofPool,
    begun: [...reading.unfinishedClusters.values()],
    missing,
    imageSet,
    ...(template !== undefined && { template }),
    admins: indexes.bindingsInNamespace.get(pool.metadata.namespace ?? '').flatMap(adminsOf),
    providerRoles: indexes.providerRoles.get(PROVIDER_ROLES),
    namespaces: readNamespaces(pool, clusters, reading),
  }
}

const readNamespaces = (
  pool: ClusterPool,
  clusters: readonly ClusterDeployment[],
  reading: ObserveSources,
): readonly PoolNamespace[] => {
  const { rejections, usedNamespaces } = reading
  const namespaces = [...ownNamespaces(pool, reading), ...earlierNamespaces(pool, clusters, reading)]
    .filter(({ metadata }) => !rejections.strangeNamespaces.has(metadata.uid))
    .map((namespace) => namespaceOf(namespace, pool, reading))
  usedNamespaces.clear()
  for (const { uid, wasUsed } of namespaces) if (wasUsed) usedNamespaces.add(uid)
  return namespaces
}

/** Those that carry its uid; what it has just made included. */
const ownNamespaces = ({ metadata }: ClusterPool, { indexes, writeCache, now }: ObserveSources) =>
  writeCache.merge(Namespace, indexes.namespacesOfPool.get(metadata.uid), now)

/** The kinds that a pool makes and later counts. */
const CREATED_KINDS: readonly Resource[] = [ClusterDeployment, Namespace]

/** What was made and not seen for long was deleted meanwhile, or the watch is behind: only the API server knows. */
const confirmOverdueWrites = async ({ api, writeCache, now }: ObserveSources): Promise<void> => {
  for (const resource of CREATED_KINDS)
    for (const object of writeCache.overdue(resource, now)) {
      const { name, namespace, uid } = object.metadata
      const found = await api.get(resource, name, namespace)
      if (found?.metadata.uid === uid) writeCache.record(resource, found, now)
      else writeCache.forget(resource, object)
    }
}

/** Those that it lists, that its clusters use, or that it holds. Others of the namespace are no concern of it. */
const findCustomizations = (
  { spec, metadata }: ClusterPool,
  clusters: readonly ClusterDeployment[],
  { indexes, writeCache, now }: ObserveSources,
): readonly ClusterDeploymentCustomization[] => {
  const names = new Set([
    ...(spec.inventory?.ClusterDeploymentCustomizations ?? []).map(({ name }) => name),
    ...(spec.customizationRef === undefined ? [] : [spec.customizationRef.name]),
    ...clusters.flatMap(({ spec: { clusterPoolRef } }) => clusterPoolRef?.clusterDeploymentCustomization?.name ?? []),
    ...indexes.customizationsHeldBy.get(keyOf(metadata)).map((held) => held.metadata.name),
  ])
  return [...names].flatMap((name) =>
    indexes.customization
      .get(`${metadata.namespace}/${name}`)
      .map((cached) => writeCache.latest(ClusterDeploymentCustomization, cached, now)),
  )
}

/**
 * Leases may name a cluster that was not made yet, or is gone. A cache is no proof of that. What only has its name, in a namespace that no pool made, is none:
 * it would hold the lease, and the pool, for as long as its author likes (POOL-105).
 */
const findAbsentClusters = async (
  clusters: readonly ClusterDeployment[],
  customizations: readonly ClusterDeploymentCustomization[],
  { api, indexes }: ObserveSources,
): Promise<readonly NamespacedName[]> => {
  const there = new Set(clusters.map(({ metadata }) => keyOf(metadata)))
  const absent: NamespacedName[] = []
  for (const { status } of customizations) {
    const named = status?.clusterDeploymentRef
    if (named === undefined || there.has(keyOf(named))) continue
    const isThere =
      indexes.cluster.get(keyOf(named)).length > 0 ||
      (await api.get(ClusterDeployment, named.name, named.namespace)) !== undefined
    const cached = (name: string) => indexes.namespace.get(name)[0]
    if (!isThere || !(await isNamespaceOfClusters(named.namespace, api, cached))) absent.push(named)
  }
  return absent
}

const findAbsentClaims = async (
  pool: ClusterPool,
  clusters: readonly ClusterDeployment[],
  claims: readonly ClusterClaim[],
  { api, absentClaims: before, now }: ObserveSources,
): Promise<ReadonlyMap<string, number>> => {
  const there = new Set(claims.map(({ metadata }) => metadata.name))
  const absent = new Map<string, number>()
  for (const { spec } of clusters) {
    const name = spec.clusterPoolRef?.claimName
    if (name === undefined || name === '' || there.has(name)) continue
    if ((await api.get(ClusterClaim, name, pool.metadata.namespace)) === undefined)
      absent.set(name, before.get(name) ?? now.getTime())
  }
  before.clear()
  for (const [name, since] of absent) before.set(name, since)
  return absent
}

/** It takes the pool and its claims along, so it is asked for only when one of these is being deleted. POOL-66. */
const findNamespaceDeletion = async (
  pool: ClusterPool,
  claims: readonly ClusterClaim[],
  { api }: ObserveSources,
): Promise<number | undefined> => {
  if ([pool, ...claims].every(({ metadata }) => metadata.deletionTimestamp === undefined)) return undefined
  const namespace = await api.get(Namespace, pool.metadata.namespace ?? '')
  return isNamespaceOf(namespace, pool) ? deletedAt(namespace.metadata) : 0
}

const adminsOf = ({ roleRef, subjects = [] }: RoleBinding) =>
  roleRef.kind === 'ClusterRole' && roleRef.name === ADMIN_ROLE ? subjects : []

/** Those of its clusters that carry the uid of an earlier pool of its name. */
const earlierNamespaces = (
  pool: ClusterPool,
  clusters: readonly ClusterDeployment[],
  { indexes }: ObserveSources,
): readonly Namespace[] =>
  [...new Set(clusters.map(({ metadata }) => metadata.namespace ?? ''))]
    .flatMap((one) => indexes.namespace.get(one))
    .filter((namespace) => isNamespaceOfEarlierPool(namespace, pool))

const namespaceOf = (
  { metadata, status }: Namespace,
  pool: ClusterPool,
  { indexes, usedNamespaces }: ObserveSources,
): PoolNamespace => {
  const isUsed = indexes.clustersInNamespace.get(metadata.name).length > 0
  const binding = indexes.bindingsInNamespace.get(metadata.name).find((one) => one.metadata.name === ADMIN_BINDING)
  return {
    providerBindings: providerBindingsIn(metadata.name, indexes),
    isOfEarlierPool: metadata.labels?.[POOL_LABELS.uid] !== pool.metadata.uid,
    name: metadata.name,
    uid: metadata.uid,
    createdAt: Date.parse(metadata.creationTimestamp ?? ''),
    terminating: metadata.deletionTimestamp !== undefined || status?.phase === 'Terminating',
    isUsed,
    wasUsed: isUsed || usedNamespaces.has(metadata.uid),
    admins: binding?.subjects,
    adminRole: binding?.roleRef.name,
  }
}

const providerBindingsIn = (namespace: string, indexes: PoolIndexes): PoolNamespace['providerBindings'] => {
  const names = new Set(indexes.providerRoles.get(PROVIDER_ROLES).map(({ name }) => name))
  return indexes.bindingsInNamespace
    .get(namespace)
    .filter(({ metadata }) => names.has(metadata.name))
    .map(({ metadata: { name, uid, labels }, roleRef, subjects = [] }) => {
      const isLabelled = labels?.[PROVIDER_ROLE_LABEL] !== undefined
      return { name, uid, roleRef, subjects, isLabelled }
    })
}
