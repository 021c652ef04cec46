import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
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
