/**
 * What goes only when no cluster is left in it. A watch may be behind by any time, so the API server is asked; clusters of the pool that
 * it knows are remembered until the watch has shown them.
 */
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { ListOptions } from '#operator/client/api.ts'
import { isOurs } from '../model/observed.ts'
import { Overtaken, patchSeen, type Work } from './context.ts'

/**
 * A namespace takes everything in it along.
 * @param seen The namespace as it was seen: another one of its name stays.
 * @throws ApiError, NetworkError, Overtaken when a cluster is in it
 */
export const deleteEmpty = async (
  work: Work,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> => {
  const [first] = await clustersNow(work, { namespace: name })
  if (first !== undefined) throw new Overtaken(`cluster ${first.metadata.name} is in namespace ${name}`)
  await work.api.delete(Namespace, name, undefined, { uid })
}

/**
 * Without its pool nobody would delete a cluster.
 * @throws ApiError, NetworkError, Overtaken when the pool has a cluster
 */
export const letPoolGo = async (work: Work): Promise<void> => {
  const { name, namespace = '', resourceVersion, finalizers = [] } = work.pool.metadata
  const clusters = await clustersNow(work, { fieldSelector: `spec.clusterPoolRef.poolName=${name}` })
  const left = clusters.find((cluster) => isOurs(work.pool, cluster))
  if (left !== undefined) throw new Overtaken(`cluster ${left.metadata.name} is of pool ${name}`)
  const others = finalizers.filter((one) => one !== POOL_FINALIZER)
  await patchSeen(work, ClusterPool, { name, namespace, resourceVersion }, { metadata: { finalizers: others } })
}

const clustersNow = async (
  { api, recent, clock, pool }: Work,
  where: ListOptions,
): Promise<readonly ClusterDeployment[]> => {
  const clusters = await Array.fromAsync(api.list(ClusterDeployment, where))
  for (const cluster of clusters) if (isOurs(pool, cluster)) recent.note(ClusterDeployment, cluster, clock.now(), true)
  return clusters
}
