/**
 * A cluster may be heard for a while after Kubernetes has forgotten its ClusterDeployment, as after a restore of etcd. Its Device came back
 * by that, nothing ever took it away, and Deployments waited for it. FLEET-72.
 */
import { clusterOfDevice } from '#apis/fleet.nationtech.io/cluster-device.ts'
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'

/** @throws ApiError, NetworkError */
export const isForgottenCluster = async (api: Pick<Api, 'get'>, { inventory }: Info): Promise<boolean> => {
  const cluster = clusterOfDevice(inventory)
  if (cluster === undefined) return false
  try {
    return (await api.get(ClusterDeployment, cluster.name, cluster.namespace)) === undefined
  } catch (error) {
    // An operator of one namespace can't know it of others.
    if (isForbidden(error)) return false
    throw error
  }
}
