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
  { metadata: { name, namespace, resourceVersion } }: ClusterDeployment,
  why: string,
): Promise<boolean> => {
  const body = { metadata: { resourceVersion }, spec: { powerState: 'Hibernating' } } as const
  try {
    await api.patch(ClusterDeployment, { name, namespace, type: 'merge', body })
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false
    throw error
  }
  events.normal('HibernateAfter', why)
  return true
}
