import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isConflict } from '#operator/client/errors.ts'
import type { Context } from '#operator/engine/context.ts'

/**
 * Deletes the object as it was read: a newer one may be wanted for longer, and its change starts another pass.
 * @throws ApiError, NetworkError
 */
export const deleteExpired = async (
  { api, events }: Pick<Context<ClusterDeployment>, 'api' | 'events'>,
  { metadata: { name, namespace, uid, resourceVersion } }: ClusterDeployment,
  why: string,
): Promise<void> => {
  try {
    await api.delete(ClusterDeployment, name, namespace, { uid, resourceVersion })
  } catch (error) {
    if (isConflict(error)) return
    throw error
  }
  events.normal('Expired', why)
}
