/**
 * Clusters of which nothing but a lease is left, and whose pool was removed by force: no pass lets them go. A new pool of that name
 * may, and another manager, at the same time: every write needs that nobody wrote since.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { LEASE_FINALIZER, POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Duration, isConflict, isNotFound, type SourceContext } from '#operator/index.ts'
import { keyOf } from '#operator/model/resource.ts'
import { patchSeen } from '../execute/context.ts'
import { isSame } from '../model/observed.ts'
import type { Lookup } from '../observe/indexes.ts'
import { Recent } from '../observe/write-cache.ts'
import { type Leasing, releaseLease } from './lease-writes.ts'

/** How often they are looked for: their pool, which would be woken by what happens to them, is gone. */
const INTERVAL: Duration = '1m'

/** Where all of them are found. */
const ONLY_LEASED = 'only-leased'

/** Entries of an index: the clusters of pools, of which nothing but their lease is left. */
export const onlyLeased = (cluster: ClusterDeployment): readonly (readonly [string, ClusterDeployment])[] =>
  isOnlyLeased(cluster) ? [[ONLY_LEASED, cluster]] : []

const isOnlyLeased = ({ metadata: { deletionTimestamp, finalizers = [] }, spec }: ClusterDeployment): boolean =>
  deletionTimestamp !== undefined &&
  spec.clusterPoolRef !== undefined &&
  finalizers.length === 1 &&
  finalizers[0] === LEASE_FINALIZER

type Doing = Pick<SourceContext, 'api' | 'clock' | 'log' | 'signal'>

/**
 * Lets them go, one by one, until the signal aborts. One that can't go never stops the others; it is tried again.
 * @param clusters an index of `onlyLeased`
 */
export const letOrphansGo = async (clusters: Lookup<ClusterDeployment>, doing: Doing): Promise<void> => {
  const { clock, log, signal } = doing
  while (!signal.aborted) {
    for (const { metadata } of clusters.get(ONLY_LEASED)) {
      if (signal.aborted) return
      try {
        await letOrphanGo(metadata, doing)
      } catch (error) {
        // Somebody else was faster.
        if (isConflict(error) || isNotFound(error)) continue
        log.warn(`cluster ${keyOf(metadata)}, whose pool may be gone, can't go yet; tried again`, { err: error })
      }
    }
    await clock.sleep(INTERVAL, signal)
  }
}

const letOrphanGo = async (
  { name, namespace = '' }: ClusterDeployment['metadata'],
  { api, clock, log }: Doing,
): Promise<void> => {
  // A cache is no proof, neither of what is left of it nor of its pool being gone.
  const cluster = await api.get(ClusterDeployment, name, namespace)
  const pool = cluster?.spec.clusterPoolRef
  if (cluster === undefined || pool === undefined || !isOnlyLeased(cluster)) return
  const uid = cluster.metadata.labels?.[POOL_LABELS.uid]
  const found = await api.get(ClusterPool, pool.poolName, pool.namespace)
  if (found !== undefined && (uid === undefined || found.metadata.uid === uid)) return

  const { resourceVersion } = cluster.metadata
  const leased = pool.clusterDeploymentCustomization?.name
  const customization =
    leased === undefined ? undefined : await api.get(ClusterDeploymentCustomization, leased, pool.namespace)
  const leasing = { api, clock, recent: new Recent() }
  if (customization !== undefined && isHeld(customization, { name, namespace })) {
    const read: Leasing['read'] = { customizations: [customization] }
    const place = { metadata: { namespace: pool.namespace } }
    await releaseLease({ ...leasing, pool: place, read }, customization.metadata)
  }
  await patchSeen(leasing, ClusterDeployment, { name, namespace, resourceVersion }, { metadata: { finalizers: [] } })
  log.info(`cluster ${namespace}/${name} went without its pool ${pool.namespace}/${pool.poolName}, which is gone`, {
    customization: leased,
  })
}

/** By this cluster; or by nobody, and whoever released it was cut off before its finalizer went. */
const isHeld = (
  { metadata, status }: ClusterDeploymentCustomization,
  cluster: { readonly name: string; readonly namespace: string },
): boolean => {
  const holder = status?.clusterDeploymentRef
  if (holder === undefined) return metadata.finalizers?.includes(LEASE_FINALIZER) ?? false
  return isSame(holder, cluster)
}
