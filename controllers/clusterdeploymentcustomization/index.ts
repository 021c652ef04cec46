/**
 * ClusterDeploymentCustomizations: whether each can be used, as conditions of the object itself, where its author looks first.
 *
 *   ClusterDeploymentCustomization ─► read its patches ─► Ready, or Stalled with the operation that can’t be applied
 *                                  └─ deleted and not leased ─► a finalizer that is left of a lease is removed
 *
 * Pools write these conditions with each lease (controllers/clusterpool/lease/lease-writes.ts), and say in their inventory what fits their own
 * install-config.
 */
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { type Context, type Controller, controller, isConflict, isNotFound, type MayWait } from '#operator/index.ts'
import { countConflict, forgetConflicts } from '#operator/model/conflict-retry.ts'
import { planWrite } from './decide.ts'
import { execute } from './execute.ts'

export const clusterDeploymentCustomization = (): Controller<ClusterDeploymentCustomization> => {
  // One at a time: a pool that is being filled writes it with each lease anyway.
  const customizations = controller(ClusterDeploymentCustomization, {
    name: 'clusterdeploymentcustomization',
    concurrency: 1,
  })
  customizations.reconcile(reconcile)
  return customizations
}

const reconcile = async (context: Context<ClusterDeploymentCustomization>): Promise<MayWait> => {
  const plan = planWrite(context.object, context.clock.now())
  try {
    if (plan !== undefined) await execute(plan, context)
    forgetConflicts(context.memo)
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return { requeueAfter: countConflict(context.memo) }
    throw error
  }
}
