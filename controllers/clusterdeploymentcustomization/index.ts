/**
 * ClusterDeploymentCustomizations: whether each can be used, said on the object itself, where who wrote it looks first.
 *
 *   ClusterDeploymentCustomization ─► read its patches ─► Ready, or Stalled with the operation that nobody can apply
 *                                  └─ deleted, and nobody holds it ─► what is left of a lease goes, and so does it
 *
 * Pools write it with each lease (lease/leasewrites.ts), and say in their inventory what fits their own install-config.
 */
import { isDeepStrictEqual } from 'node:util'
import { buildPatchConditions } from '#apis/hive.openshift.io/model/customization-conditions.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Context, type Controller, controller, isConflict, isNotFound, type MayWait } from '#operator/index.ts'
import { withConditions } from '#operator/model/conditions.ts'

export const clusterDeploymentCustomization = (): Controller<ClusterDeploymentCustomization> => {
  // One at a time: a pool that is being filled says it with each lease anyway.
  const all = controller(ClusterDeploymentCustomization, { name: 'clusterdeploymentcustomization', concurrency: 1 })
  all.reconcile(lookAfter)
  return all
}

/** After a pool was faster; the watch is usually quicker. Milliseconds. */
const AFTER_CONFLICT = 1_000

const lookAfter = async (context: Context<ClusterDeploymentCustomization>): Promise<MayWait> => {
  try {
    await (isLeft(context.object) ? letGo(context) : say(context))
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return { requeueAfter: AFTER_CONFLICT }
    throw error
  }
}

/**
 * A lease is two writes, to its status and to its finalizers, and somebody may have been cut off between them. Pools mend what they
 * list; one that no pool lists any more would never go (POOL-9).
 */
const isLeft = ({
  metadata: { deletionTimestamp, finalizers = [] },
  status,
}: ClusterDeploymentCustomization): boolean =>
  deletionTimestamp !== undefined && finalizers.includes(LEASE_FINALIZER) && status?.clusterDeploymentRef === undefined

/** Guarded: a lease that was written since keeps it. */
const letGo = async ({ object, api }: Context<ClusterDeploymentCustomization>): Promise<void> => {
  const { name, namespace, resourceVersion, finalizers = [] } = object.metadata
  const rest = finalizers.filter((finalizer) => finalizer !== LEASE_FINALIZER)
  const body = { metadata: { resourceVersion, finalizers: rest } }
  await api.patch(ClusterDeploymentCustomization, { name, namespace, type: 'merge', body })
}

const say = async ({ object, api, clock }: Context<ClusterDeploymentCustomization>): Promise<void> => {
  const { metadata, status } = object
  const { name, namespace, resourceVersion, generation } = metadata
  const said = {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: withConditions(status?.conditions, buildPatchConditions(object), clock.now()),
  }
  if (isDeepStrictEqual({ ...status, ...said }, status)) return
  // Guarded: the conditions are one list, and a lease that was written since must not be lost.
  const body = { metadata: { resourceVersion }, status: said }
  await api.patch(ClusterDeploymentCustomization, { name, namespace, subresource: 'status', type: 'merge', body })
}
