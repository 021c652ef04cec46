/**
 * What goes only when no cluster is left in it. A watch may be behind by any time, so the API server is asked; clusters of the pool that
 * it knows are remembered until the watch has shown them.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { ListOptions } from '#operator/client/api.ts'
import { belongsToPool } from '../model/observed.ts'
import { type ExecuteContext, patchIfUnchanged, StaleWriteError } from './context.ts'

/**
 * A namespace takes everything in it along (POOL-36).
 * @param seen The namespace as it was seen: another one of its name stays.
 * @throws ApiError, NetworkError, Overtaken when a cluster is in it
 */
export const deleteEmptyNamespace = async (
  context: ExecuteContext,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> => {
  const [first] = await listClusters(context, { namespace: name })
  if (first !== undefined) throw new StaleWriteError(`cluster ${first.metadata.name} is in namespace ${name}`)
  await context.api.delete(Namespace, name, undefined, { uid })
}

/**
 * Without its pool a cluster would never be deleted.
 * @throws ApiError, NetworkError, Overtaken when the pool has a cluster
 */
export const removePoolFinalizer = async (context: ExecuteContext): Promise<void> => {
  const { name, namespace = '', resourceVersion, finalizers = [] } = context.pool.metadata
  const clusters = await listClusters(context, { fieldSelector: `spec.clusterPoolRef.poolName=${name}` })
  const left = clusters.find((cluster) => belongsToPool(context.pool, cluster))
  if (left !== undefined) throw new StaleWriteError(`cluster ${left.metadata.name} is of pool ${name}`)
  const others = finalizers.filter((one) => one !== POOL_FINALIZER)
  await patchIfUnchanged(
    context,
    ClusterPool,
    { name, namespace, resourceVersion },
    { metadata: { finalizers: others } },
  )
}

const listClusters = async (
  { api, writeCache, clock, pool }: ExecuteContext,
  where: ListOptions,
): Promise<readonly ClusterDeployment[]> => {
  const clusters = await Array.fromAsync(api.list(ClusterDeployment, where))
  for (const cluster of clusters)
    if (belongsToPool(pool, cluster)) writeCache.record(ClusterDeployment, cluster, clock.now(), true)
  return clusters
}
