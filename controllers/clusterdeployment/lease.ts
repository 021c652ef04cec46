import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import { findCondition } from '#operator/model/conditions.ts'

/**
 * Why a cluster may not be made with its customization: two clusters of one customization would share a name in DNS.
 * CLUSTER-2.
 * @param customization as it is now; undefined when there is none
 * @returns undefined when it holds the lease
 */
export const findLeaseProblem = (
  { metadata, spec }: ClusterDeployment,
  customization: ClusterDeploymentCustomization | undefined,
): string | undefined => {
  const leased = spec.clusterPoolRef?.clusterDeploymentCustomization?.name
  if (leased === undefined) return undefined
  const what = `customization ${leased}`
  if (customization === undefined) return `${what} is not there`
  const holder = customization.status?.clusterDeploymentRef
  if (findCondition(customization.status?.conditions, 'Available')?.status === 'True' || holder === undefined)
    return `${what} has no lease`
  if (holder.name === metadata.name && holder.namespace === metadata.namespace) return undefined
  return `${what} is leased to cluster ${holder.namespace}/${holder.name}`
}

/**
 * Writes down that the cluster is registered under its lease, before it is. The write is guarded by the resourceVersion at which the lease was
 * read, and makes another one: a manager that takes the lease over because the cluster was not there yet is refused, or was faster. POOL-58.
 * @returns false when the customization was written since it was read
 * @throws ApiError, NetworkError
 */
export const recordRegistration = async (
  api: Api,
  { metadata: { uid } }: ClusterDeployment,
  customization: ClusterDeploymentCustomization,
): Promise<boolean> => {
  if (customization.status?.registeredUid === uid) return true
  try {
    await api.patchIfUnchanged(
      ClusterDeploymentCustomization,
      customization,
      { status: { registeredUid: uid } },
      'status',
    )
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false
    throw error
  }
  return true
}
