/** Where the clusters of claims are: CLAIM-18. */
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { Api } from '#operator/index.ts'

/**
 * Is it one that a pool made for a cluster? Its label says so, which only pools may write (POOL-103). Elsewhere what says that it is the cluster of a claim was put
 * there by its author, and which Secrets it names for its users as well.
 * @throws ApiError, NetworkError
 */
export const isNamespaceOfCluster = async (name: string, api: Api): Promise<boolean> =>
  (await api.get(Namespace, name))?.metadata.labels?.[POOL_LABELS.uid] !== undefined
