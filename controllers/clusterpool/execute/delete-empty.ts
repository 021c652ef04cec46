/**
 * What goes only when no cluster is left in it. A watch may be behind by any time, so the API server is asked; clusters of the pool that
 * it knows are remembered until the watch has shown them.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_FINALIZER, POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import type { ListOptions } from '#operator/client/api.ts'
import { isMadeByPool } from '../cluster/namespace-origin.ts'
import { CLUSTERPOOL_ERRORS } from '../errors.ts'
import { belongsToPool } from '../model/observed.ts'
import { findOwnClusters } from '../observe/own-clusters.ts'
import { type ExecuteContext, patchIfUnchanged, StaleWriteError } from './context.ts'

/** It carries the uid of a pool that did not make it. */
export class StrangeNamespaceError extends errorOf(CLUSTERPOOL_ERRORS, 'StrangeNamespaceError') {}

/**
 * A namespace takes everything in it along (POOL-36): one that only carries the label of a pool stays, and is looked at no more (POOL-59).
 * @param seen The namespace as it was seen: another one of its name stays.
 * @throws ApiError, NetworkError, StaleWriteError when a cluster is in it, StrangeNamespaceError
 */
export const deleteEmptyNamespace = async (
  context: ExecuteContext,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> => {
  const [first] = await listClusters(context, { namespace: name })
  if (first !== undefined) throw new StaleWriteError(`cluster ${first.metadata.name} is in namespace ${name}`)
  const found = await context.api.get(Namespace, name)
  if (found?.metadata.uid !== uid) throw new StaleWriteError(`namespace ${name} is gone`)
  // By the pass before: the watch has not shown it yet.
  if (found.metadata.deletionTimestamp !== undefined) {
    context.writeCache.record(Namespace, found, context.clock.now())
    return
  }
  if (!isMadeByPool(found)) {
    context.rejections.strangeNamespaces.add(uid)
    throw new StrangeNamespaceError(
      `namespace ${name} carries the label ${POOL_LABELS.uid} of pool ${context.pool.metadata.name}, which did not make it: it is left alone. Take the label off`,
    )
  }
  await context.api.delete(Namespace, name, undefined, { uid })
}

/**
 * Without its pool a cluster would never be deleted.
 * @throws ApiError, NetworkError, StaleWriteError when the pool has a cluster
 */
export const removePoolFinalizer = async (context: ExecuteContext): Promise<void> => {
  const { name, namespace = '', resourceVersion, finalizers = [] } = context.pool.metadata
  const clusters = await listClusters(context, { fieldSelector: `spec.clusterPoolRef.poolName=${name}` })
  const naming = clusters.filter((cluster) => belongsToPool(context.pool, cluster))
  const [left] = await findOwnClusters(context.pool, naming, context.api, () => undefined)
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
