/**
 * Clusters of which nothing but a lease is left, and whose pool was removed by force: no pass lets them go. A new pool of that name
 * may, and another manager, at the same time: every write is guarded by the resourceVersion that was read (POOL-43). One that is in no
 * namespace of a pool's cluster is let go as well, and nothing that it names is written for its sake (POOL-108).
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER, POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { patchIfUnchanged } from '../execute/context.ts'
import { isSame } from '../model/names.ts'
import type { Lookup } from '../observe/indexes.ts'
import { isNamespaceOfClusters } from '../observe/own-clusters.ts'
import { WriteCache } from '../observe/write-cache.ts'
import { type LeaseContext, releaseLease } from './lease-writes.ts'
import { type SweepContext, sweep } from './sweep.ts'

/** Where all of them are found. */
const LEASE_ONLY = 'only-leased'

/** Entries of an index: the clusters of pools, of which nothing but their lease is left. */
export const leaseOnlyEntries = (cluster: ClusterDeployment): readonly (readonly [string, ClusterDeployment])[] =>
  hasOnlyLease(cluster) ? [[LEASE_ONLY, cluster]] : []

const hasOnlyLease = ({ metadata: { deletionTimestamp, finalizers = [] }, spec }: ClusterDeployment): boolean =>
  deletionTimestamp !== undefined &&
  spec.clusterPoolRef !== undefined &&
  finalizers.length === 1 &&
  finalizers[0] === LEASE_FINALIZER

/** Lets them go until the signal aborts. @param clusters an index of `leaseOnlyEntries` */
export const releaseOrphanedClusters = (clusters: Lookup<ClusterDeployment>, doing: SweepContext): Promise<void> =>
  sweep(
    {
      find: () => clusters.get(LEASE_ONLY),
      release: ({ metadata }) => releaseOrphanedCluster(metadata, doing),
      describe: (key) => `cluster ${key}, whose pool may be gone, can't go yet`,
    },
    doing,
  )

const releaseOrphanedCluster = async (
  { name, namespace = '' }: ClusterDeployment['metadata'],
  { api, clock, log }: SweepContext,
): Promise<void> => {
  // A cache is no proof, neither of what is left of it nor of its pool being gone.
  const cluster = await api.get(ClusterDeployment, name, namespace)
  const pool = cluster?.spec.clusterPoolRef
  if (cluster === undefined || pool === undefined || !hasOnlyLease(cluster)) return
  const leasing = { api, clock, writeCache: new WriteCache() }
  const { resourceVersion } = cluster.metadata
  const removeFinalizer = () =>
    patchIfUnchanged(leasing, ClusterDeployment, { name, namespace, resourceVersion }, { metadata: { finalizers: [] } })
  if (!(await isNamespaceOfClusters(namespace, api))) {
    await removeFinalizer()
    log.info(`cluster ${namespace}/${name} went: no pool looks after it, as none made its namespace`)
    return
  }
  const uid = cluster.metadata.labels?.[POOL_LABELS.uid]
  const found = await api.get(ClusterPool, pool.poolName, pool.namespace)
  if (found !== undefined && (uid === undefined || found.metadata.uid === uid)) return

  const leased = pool.clusterDeploymentCustomization?.name
  const customization =
    leased === undefined ? undefined : await api.get(ClusterDeploymentCustomization, leased, pool.namespace)
  if (customization !== undefined && mayRelease(customization, { name, namespace })) {
    const objects: LeaseContext['objects'] = { customizations: [customization] }
    const place = { metadata: { namespace: pool.namespace } }
    await releaseLease({ ...leasing, pool: place, objects }, customization.metadata, { outcome: 'Lost' })
  }
  await removeFinalizer()
  log.info(`cluster ${namespace}/${name} went without its pool ${pool.namespace}/${pool.poolName}, which is gone`, {
    customization: leased,
  })
}

/** By this cluster; or by none, and the manager that released it was cut off before it removed the finalizer. */
const mayRelease = (
  { metadata, status }: ClusterDeploymentCustomization,
  cluster: { readonly name: string; readonly namespace: string },
): boolean => {
  const holder = status?.clusterDeploymentRef
  if (holder === undefined) return metadata.finalizers?.includes(LEASE_FINALIZER) ?? false
  return isSame(holder, cluster)
}
