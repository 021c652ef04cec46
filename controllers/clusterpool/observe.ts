/** Everything that a pass looks at, read from caches, from what was written lately, and where those can't tell from the API server. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { Namespace, type RoleBinding } from '#apis/kubernetes.ts'
import type { Api } from '#operator/index.ts'
import { keyOf, type Resource } from '#operator/model/resource.ts'
import { ADMIN_BINDING, ADMIN_ROLE } from './decide/admin-bindings.ts'
import type { PoolNamespace } from './decide/namespaces.ts'
import type { NamespacedName, Read } from './model/observed.ts'
import type { Dependencies } from './observe/dependencies.ts'
import type { View } from './observe/indexes.ts'
import type { Refusals } from './observe/refusals.ts'
import type { Recent } from './observe/write-cache.ts'

export interface Reading {
  readonly api: Api
  readonly view: View
  readonly recent: Recent
  readonly refusals: Refusals
  readonly begun: ReadonlyMap<string, NamespacedName>
  readonly now: Date
}

/** @throws ApiError, NetworkError */
export const readPool = async (
  pool: ClusterPool,
  { missing, template }: Dependencies,
  reading: Reading,
): Promise<Read> => {
  const { view, recent } = reading
  await settleOverdue(reading)
  const key = keyOf(pool.metadata)
  const clusters = recent.merged(ClusterDeployment, view.clustersOfPool.get(key))
  const claims = recent.merged(ClusterClaim, view.claimsOfPool.get(key))
  const customizations = customizationsOf(pool, clusters, reading)
  return {
    pool,
    clusters,
    claims,
    customizations,
    absent: await absentOf(clusters, customizations, reading),
    absentClaims: await absentClaimsOf(pool, clusters, claims, reading),
    refused: reading.refusals.ofCustomizations,
    refusal: reading.refusals.ofPool,
    begun: [...reading.begun.values()],
    missing,
    ...(template !== undefined && { template }),
    admins: view.bindingsInNamespace.get(pool.metadata.namespace ?? '').flatMap(adminsOf),
    namespaces: recent
      .merged(Namespace, view.namespacesOfPool.get(pool.metadata.uid))
      .map((namespace) => namespaceOf(namespace, reading)),
  }
}

/** The kinds that a pool makes and later counts. */
const MADE: readonly Resource[] = [ClusterDeployment, Namespace]

/** What was made and not seen for long was deleted meanwhile, or the watch is behind: only the API server knows. */
const settleOverdue = async ({ api, recent, now }: Reading): Promise<void> => {
  for (const resource of MADE)
    for (const object of recent.overdue(resource, now)) {
      const { name, namespace, uid } = object.metadata
      const found = await api.get(resource, name, namespace)
      if (found?.metadata.uid === uid) recent.note(resource, found, now)
      else recent.forget(resource, object)
    }
}

/** Those that it lists, that its clusters use, or that it holds. Others of the namespace are no concern of it. */
const customizationsOf = (
  { spec, metadata }: ClusterPool,
  clusters: readonly ClusterDeployment[],
  { view, recent }: Reading,
): readonly ClusterDeploymentCustomization[] => {
  const names = new Set([
    ...(spec.inventory?.ClusterDeploymentCustomizations ?? []).map(({ name }) => name),
    ...(spec.customizationRef === undefined ? [] : [spec.customizationRef.name]),
    ...clusters.flatMap(({ spec: { clusterPoolRef } }) => clusterPoolRef?.clusterDeploymentCustomization?.name ?? []),
    ...view.customizationsHeldBy.get(keyOf(metadata)).map((held) => held.metadata.name),
  ])
  return [...names].flatMap((name) =>
    view.customization
      .get(`${metadata.namespace}/${name}`)
      .map((cached) => recent.latest(ClusterDeploymentCustomization, cached)),
  )
}

/** Leases may name a cluster that was not made yet, or is gone. A cache is no proof of that. */
const absentOf = async (
  clusters: readonly ClusterDeployment[],
  customizations: readonly ClusterDeploymentCustomization[],
  { api, view }: Reading,
): Promise<readonly NamespacedName[]> => {
  const there = new Set(clusters.map(({ metadata }) => keyOf(metadata)))
  const absent: NamespacedName[] = []
  for (const { status } of customizations) {
    const named = status?.clusterDeploymentRef
    if (named === undefined || there.has(keyOf(named)) || view.cluster.get(keyOf(named)).length > 0) continue
    if ((await api.get(ClusterDeployment, named.name, named.namespace)) === undefined) absent.push(named)
  }
  return absent
}

const absentClaimsOf = async (
  pool: ClusterPool,
  clusters: readonly ClusterDeployment[],
  claims: readonly ClusterClaim[],
  { api }: Reading,
): Promise<readonly string[]> => {
  const there = new Set(claims.map(({ metadata }) => metadata.name))
  const absent: string[] = []
  for (const { spec } of clusters) {
    const name = spec.clusterPoolRef?.claimName
    if (name === undefined || name === '' || there.has(name)) continue
    if ((await api.get(ClusterClaim, name, pool.metadata.namespace)) === undefined) absent.push(name)
  }
  return absent
}

const adminsOf = ({ roleRef, subjects = [] }: RoleBinding) =>
  roleRef.kind === 'ClusterRole' && roleRef.name === ADMIN_ROLE ? subjects : []

const namespaceOf = ({ metadata, status }: Namespace, { view }: Reading): PoolNamespace => ({
  name: metadata.name,
  uid: metadata.uid,
  createdAt: Date.parse(metadata.creationTimestamp ?? ''),
  terminating: metadata.deletionTimestamp !== undefined || status?.phase === 'Terminating',
  isUsed: view.clustersInNamespace.get(metadata.name).length > 0,
  admins: view.bindingsInNamespace.get(metadata.name).find((binding) => binding.metadata.name === ADMIN_BINDING)
    ?.subjects,
})
