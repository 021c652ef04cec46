import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Context } from '#operator/engine/context.ts'

/**
 * Declares that a cluster is to sleep, as somebody who does not need it for now would.
 * @param seen nobody may have written it since: he may have claimed it, or want it to run for longer
 * @returns false when somebody has; his write wakes it again
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
