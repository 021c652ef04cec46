import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { Context } from '#operator/index.ts'
import type { Plan } from './decide.ts'

/**
 * Guarded: a lease that was written since keeps its finalizer, and the conditions, which are one list, must not take its own.
 * @throws ApiError: Conflict when the object has changed since
 */
export const execute = async (
  plan: Plan,
  { object, api }: Pick<Context<ClusterDeploymentCustomization>, 'object' | 'api'>,
): Promise<void> => {
  if (plan.write === 'status')
    await api.patchIfUnchanged(ClusterDeploymentCustomization, object, { status: plan.status }, 'status')
  else await api.patchIfUnchanged(ClusterDeploymentCustomization, object, { metadata: { finalizers: plan.finalizers } })
}
