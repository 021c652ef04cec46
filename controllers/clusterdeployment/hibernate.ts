import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Context } from '#operator/engine/context.ts'

/**
 * Sets `powerState` to Hibernating, as a user would.
 * @param seen the write is refused when it was written since: it may be claimed now, or be wanted for longer
 * @returns false when it was; that write starts another pass
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
