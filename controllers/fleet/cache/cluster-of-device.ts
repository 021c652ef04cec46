/**
 * The ClusterDeployment of a device that says it is a cluster. One may be heard for a while after Kubernetes has forgotten its
 * ClusterDeployment, as after a restore of etcd. Its Device came back by that, nothing ever took it away, and Deployments waited for it.
 * FLEET-72.
 */
import { clusterOfDevice } from '#apis/fleet.nationtech.io/cluster-device.ts'
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'

/** `Forgotten`: Kubernetes has it no more. Undefined for a machine, and where an operator of one namespace may not read it. */
export type ClusterOfDevice = ClusterDeployment | 'Forgotten' | undefined

/** @throws ApiError, NetworkError */
export const readClusterOfDevice = async (api: Pick<Api, 'get'>, { inventory }: Info): Promise<ClusterOfDevice> => {
  const cluster = clusterOfDevice(inventory)
  if (cluster === undefined) return undefined
  try {
    return (await api.get(ClusterDeployment, cluster.name, cluster.namespace)) ?? 'Forgotten'
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}
