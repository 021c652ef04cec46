/**
 * Leases that name a pool which is gone and a cluster which was never made: a manager was cut off after it took the lease, and the pool was
 * removed by force. No pass gives them back, and a deleted customization would never go (POOL-50).
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Namespace } from '#apis/kubernetes.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { isRestoring } from '../model/metadata.ts'
import type { Lookup } from '../observe/indexes.ts'
import { isNamespaceOfClusters } from '../observe/own-clusters.ts'
import { WriteCache } from '../observe/write-cache.ts'
import { LEASE_GRACE_MS } from './lease.ts'
import { releaseLease } from './lease-writes.ts'
import { type SweepContext, sweep } from './sweep.ts'

/** Where all leases are found. */
const LEASED = 'leased'

/** Entries of an index: the customizations that name a cluster. */
export const leasedEntries = (
  customization: ClusterDeploymentCustomization,
): readonly (readonly [string, ClusterDeploymentCustomization])[] =>
  customization.status?.clusterDeploymentRef === undefined ? [] : [[LEASED, customization]]

/** What the caches have. */
export interface LeaseCaches {
  /** An index of `leasedEntries`. */
  readonly leases: Lookup<ClusterDeploymentCustomization>
  /** By `namespace/name`. */
  readonly pools: Lookup<ClusterPool>
  readonly clusters: Lookup<ClusterDeployment>
  /** Those of clusters, by name. */
  readonly namespaces: Lookup<Namespace>
}

/** Gives them back until the signal aborts. */
export const releaseOrphanedLeases = (caches: LeaseCaches, doing: SweepContext): Promise<void> =>
  sweep(
    {
      find: () => caches.leases.get(LEASED),
      release: async (customization) => {
        if (mayBeOrphaned(customization, caches, doing.clock.now()))
          await releaseOrphanedLease(customization.metadata, doing)
      },
      describe: (key) => `customization ${key}, whose pool may be gone, can't be released yet`,
    },
    doing,
  )

/** As far as caches and the time tell; it costs no request while pools and clusters are there. */
const mayBeOrphaned = (
  { metadata, status }: ClusterDeploymentCustomization,
  { pools, clusters, namespaces }: Omit<LeaseCaches, 'leases'>,
  now: Date,
): boolean => {
  // Its pool and its cluster may be about to come. POOL-52.
  if (isRestoring(metadata)) return false
  const { clusterDeploymentRef: cluster, clusterPoolRef: pool } = status ?? {}
  if (cluster === undefined) return false
  if (clusters.get(keyOf(cluster)).length > 0 && namespaces.get(cluster.namespace).length > 0) return false
  if (pool !== undefined && pools.get(keyOf(pool)).length > 0) return false
  const since = findCondition(status?.conditions, 'Available')?.lastTransitionTime
  return (since === undefined ? 0 : Date.parse(since)) + LEASE_GRACE_MS <= now.getTime()
}

const releaseOrphanedLease = async (
  { name, namespace = '' }: ClusterDeploymentCustomization['metadata'],
  { api, clock, log }: SweepContext,
): Promise<void> => {
  // A cache is no proof that a pool or a cluster is gone.
  const customization = await api.get(ClusterDeploymentCustomization, name, namespace)
  const { clusterDeploymentRef: cluster, clusterPoolRef: pool } = customization?.status ?? {}
  if (customization === undefined || cluster === undefined || isRestoring(customization.metadata)) return
  if (pool !== undefined && (await api.get(ClusterPool, pool.name, pool.namespace)) !== undefined) return
  const made = await api.get(ClusterDeployment, cluster.name, cluster.namespace)
  if (made !== undefined && (await isNamespaceOfClusters(cluster.namespace, api))) return
  const objects = { customizations: [customization] }
  const place = { metadata: { namespace } }
  await releaseLease({ api, clock, writeCache: new WriteCache(), pool: place, objects }, customization.metadata, {
    outcome: 'NeverMade',
    message: 'its pool was removed',
  })
  log.info(`customization ${namespace}/${name} is free again: its pool and its cluster ${keyOf(cluster)} are gone`)
}
