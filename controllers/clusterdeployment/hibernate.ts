import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Context } from '#operator/engine/context.ts'

/**
 * Sets `powerState` to Hibernating, as a user would, of the object as it was read: a newer one may be claimed now, or be wanted for longer.
 * @returns false when there is a newer one; its change starts another pass
 * @throws ApiError, NetworkError
 */
export const hibernate = async (
  { api, events }: Pick<Context<ClusterDeployment>, 'api' | 'events'>,
  deployment: ClusterDeployment,
  why: string,
): Promise<boolean> => {
  try {
    await api.patchIfUnchanged(ClusterDeployment, deployment, { spec: { powerState: 'Hibernating' } })
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false
    throw error
  }
  events.normal('HibernateAfter', why)
  return true
}
