/**
 * ClusterDeploymentCustomizations: whether each can be used, as conditions of the object itself, where its author looks first.
 *
 *   ClusterDeploymentCustomization ─► read its patches ─► Ready, or Stalled with the operation that can’t be applied
 *                                  └─ deleted and not leased ─► a finalizer that is left of a lease is removed
 *
 * Pools write these conditions with each lease (controllers/clusterpool/lease/lease-writes.ts), and say in their inventory what fits their own
 * install-config.
 */
import { isDeepStrictEqual } from 'node:util'
import { buildPatchConditions } from '#apis/hive.openshift.io/model/customization-conditions.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Context, type Controller, controller, isConflict, isNotFound, type MayWait } from '#operator/index.ts'
import { withConditions } from '#operator/model/conditions.ts'
import { countConflict, forgetConflicts } from '#operator/model/conflict-retry.ts'

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
  try {
    await (hasLeftoverFinalizer(context.object) ? removeLeaseFinalizer(context) : writeConditions(context))
    forgetConflicts(context.memo)
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return { requeueAfter: countConflict(context.memo) }
    throw error
  }
}

/**
 * A lease is two writes, to its status and to its finalizers, and a manager may have been cut off between them. Pools repair what they
 * list; one that no pool lists any more would never go (POOL-9).
 */
const hasLeftoverFinalizer = ({
  metadata: { deletionTimestamp, finalizers = [] },
  status,
}: ClusterDeploymentCustomization): boolean =>
  deletionTimestamp !== undefined && finalizers.includes(LEASE_FINALIZER) && status?.clusterDeploymentRef === undefined

/** Guarded: a lease that was written since keeps it. */
const removeLeaseFinalizer = async ({ object, api }: Context<ClusterDeploymentCustomization>): Promise<void> => {
  const finalizers = object.metadata.finalizers?.filter((finalizer) => finalizer !== LEASE_FINALIZER) ?? []
  await api.patchIfUnchanged(ClusterDeploymentCustomization, object, { metadata: { finalizers } })
}

const writeConditions = async ({ object, api, clock }: Context<ClusterDeploymentCustomization>): Promise<void> => {
  const { metadata, status } = object
  const { generation } = metadata
  const change = {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...withConditions(status?.conditions, buildPatchConditions(object), clock.now())],
  }
  if (isDeepStrictEqual({ ...status, ...change }, status)) return
  // Guarded: the conditions are one list, and a lease that was written since must not be lost.
  await api.patchIfUnchanged(ClusterDeploymentCustomization, object, { status: change }, 'status')
}
