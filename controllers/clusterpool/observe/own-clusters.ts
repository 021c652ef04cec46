/** Which of the clusters that name a pool are its own: those in namespaces of its clusters. POOL-104. */
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { Api } from '#operator/index.ts'
import { MAX_LABEL_CHARS } from '../cluster/manifests.ts'

/** The namespace that a cache has, if it has it. */
type Lookup = (name: string) => Namespace | undefined

/** Its label says so, which only pools may write: the policy `muster-pool-namespaces`, POOL-103. */
export const isNamespaceOfPool = (namespace: Namespace, pool: ClusterPool): boolean =>
  namespace.metadata.labels?.[POOL_LABELS.uid] === pool.metadata.uid || isNamespaceOfEarlierPool(namespace, pool)

/** It carries the uid of an earlier pool of this name, from before a restore. */
export const isNamespaceOfEarlierPool = (
  { metadata: { labels = {} } }: Namespace,
  { metadata: { uid, name, namespace } }: ClusterPool,
): boolean => {
  const formerUid = labels[POOL_LABELS.uid]
  // A name that no label can have is left out.
  const isItsName = name.length <= MAX_LABEL_CHARS ? labels[POOL_LABELS.name] === name : !(POOL_LABELS.name in labels)
  return formerUid !== undefined && formerUid !== uid && isItsName && labels[POOL_LABELS.namespace] === namespace
}

/**
 * A cache may be behind, and a cluster that is not counted would be made a second time: what it does not show is asked of the API server.
 * A cluster whose namespace is gone is about to go as well.
 * @throws ApiError, NetworkError
 */
export const findOwnClusters = async (
  pool: ClusterPool,
  clusters: readonly ClusterDeployment[],
  api: Api,
  cached: Lookup,
): Promise<readonly ClusterDeployment[]> => {
  const isOwn = new Map<string, boolean>()
  for (const { metadata } of clusters) {
    const name = metadata.namespace ?? ''
    if (isOwn.has(name)) continue
    const known = cached(name)
    const namespace = known !== undefined && isNamespaceOfPool(known, pool) ? known : await api.get(Namespace, name)
    isOwn.set(name, namespace === undefined || isNamespaceOfPool(namespace, pool))
  }
  return clusters.filter(({ metadata }) => isOwn.get(metadata.namespace ?? ''))
}

/**
 * Is it one in which pools make clusters? An object that is called like a cluster is none elsewhere: any account that may make a namespace may make both. What is
 * in a namespace that is gone is about to go as well.
 * @param cached a namespace with the label of some pool @throws ApiError, NetworkError
 */
export const isNamespaceOfClusters = async (
  name: string,
  api: Api,
  cached: Lookup = () => undefined,
): Promise<boolean> => {
  const namespace = cached(name) ?? (await api.get(Namespace, name))
  return namespace === undefined || namespace.metadata.labels?.[POOL_LABELS.uid] !== undefined
}
