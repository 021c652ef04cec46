/** Carries out what a pass decided, write by write. One action's failure never stops the others. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RoleBinding } from '#apis/kubernetes.ts'
import { isConflict, isNotFound } from '#operator/index.ts'
import { withConditions } from '#operator/model/conditions.ts'
import { adminBindingManifest } from './cluster/manifests.ts'
import { ADMIN_BINDING } from './decide/admin-bindings.ts'
import { bindProvider } from './execute/bind-provider.ts'
import { type ExecuteContext, FIELD_MANAGER, patchIfUnchanged, StaleWriteError } from './execute/context.ts'
import { ClusterRejectedError, createCluster } from './execute/create-cluster.ts'
import { deleteEmptyNamespace, removePoolFinalizer } from './execute/delete-empty.ts'
import { releaseLease, repairLease } from './lease/lease-writes.ts'
import type { Action } from './model/plan.ts'

/** What became of one action. */
export type ActionResult =
  | {
      readonly action: Action
      /** Conflict: the object was written or has changed since it was read; the next pass sees it. */
      readonly result: 'done' | 'conflict'
    }
  | {
      readonly action: Action
      /** Rejected: trying again at once changes nothing. */
      readonly result: 'rejected' | 'failed'
      readonly error: Error
    }

/** Clusters are made side by side: each takes half a dozen requests one after the other. */
const MAX_PARALLEL_CREATIONS = 8
/** A pass that makes more would keep claims waiting; the rest is made in the next one. */
const MAX_CREATIONS_PER_PASS = 40

/** @param signal Ends between two actions: what was not begun is not in the results. */
export const execute = async (
  actions: readonly Action[],
  context: ExecuteContext,
  signal: AbortSignal,
): Promise<readonly ActionResult[]> => {
  const results: ActionResult[] = []
  const isCreation = ({ action }: Action) => action === 'CreateCluster'
  for (const action of actions) {
    if (signal.aborted) return results
    if (!isCreation(action)) results.push(await tryAction(action, context))
  }
  const creations = actions.filter(isCreation).slice(0, MAX_CREATIONS_PER_PASS).values()
  const worker = async () => {
    for (const action of creations) {
      if (signal.aborted) return
      results.push(await tryAction(action, context))
    }
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL_CREATIONS }, worker))
  return results
}

const tryAction = async (action: Action, context: ExecuteContext): Promise<ActionResult> => {
  try {
    await executeAction(action, context)
    return { action, result: 'done' }
  } catch (error) {
    if (error instanceof StaleWriteError || isConflict(error) || isNotFound(error))
      return { action, result: 'conflict' }
    if (error instanceof ClusterRejectedError) return { action, result: 'rejected', error }
    return { action, result: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
  }
}

const executeAction = async (action: Action, context: ExecuteContext): Promise<void> => {
  const { api, pool } = context
  switch (action.action) {
    case 'WriteStatus':
      return writeStatus(context, action.status)
    case 'CreateCluster':
      return createCluster(context, action)
    case 'DeleteCluster': {
      const { name, namespace, uid, resourceVersion } = action.cluster
      return api.delete(ClusterDeployment, name, namespace, { uid, resourceVersion })
    }
    case 'RepairLease':
      return repairLease(context, action.customization, action.cluster)
    case 'ReleaseLease':
      return releaseLease(context, action.customization, action.end)
    case 'RemoveClusterFinalizer':
      return removeClusterFinalizer(context, action)
    case 'AssignClaim':
      return assignClaim(context, action)
    case 'ClearClaim':
      await patchIfUnchanged(context, ClusterClaim, claimTarget(context, action.claim), { spec: { namespace: null } })
      return
    case 'QueueClaim':
      return queueClaim(context, action)
    case 'SetPower':
      await patchIfUnchanged(context, ClusterDeployment, action.cluster, { spec: { powerState: action.power } })
      return
    case 'BindAdmins':
      // The role of a binding can't be changed.
      if (action.subjects.length === 0 || action.isOfOtherRole)
        await api.delete(RoleBinding, ADMIN_BINDING, action.namespace)
      if (action.subjects.length === 0) return
      await api.apply(RoleBinding, adminBindingManifest(pool, action), { fieldManager: FIELD_MANAGER, force: true })
      return
    case 'BindProvider':
      return bindProvider(context, action)
    case 'DeleteNamespace':
      return deleteEmptyNamespace(context, action)
    case 'RemovePoolFinalizer':
      return removePoolFinalizer(context)
    case 'Wait':
  }
}

type ActionOf<Name extends Action['action']> = Extract<Action, { readonly action: Name }>

/** The whole of it: an entry of the inventory that is not in it goes. */
const writeStatus = async (
  { api, pool, writeCache, clock }: ExecuteContext,
  status: ActionOf<'WriteStatus'>['status'],
): Promise<void> => {
  writeCache.record(ClusterPool, await api.replace(ClusterPool, { ...pool, status }, 'status'), clock.now())
}

/** The lease first, then the finalizer: POOL-6. */
const removeClusterFinalizer = async (
  context: ExecuteContext,
  { cluster, customization, end }: ActionOf<'RemoveClusterFinalizer'>,
): Promise<void> => {
  if (customization !== undefined) await releaseLease(context, customization, end)
  // Nothing but the lease's finalizer is left on it: that is what the plan saw at this resourceVersion.
  await patchIfUnchanged(context, ClusterDeployment, cluster, { metadata: { finalizers: [] } })
}

/** The claim's side first, because its namespace decides; the other side is written in the next pass when this one is cut off. */
const assignClaim = async (context: ExecuteContext, { claim, cluster }: ActionOf<'AssignClaim'>): Promise<void> => {
  if (claim.namespace === undefined)
    await patchIfUnchanged(context, ClusterClaim, claimTarget(context, claim), {
      spec: { namespace: cluster.namespace },
    })
  if (cluster.claim !== undefined) return
  const claimedTimestamp = context.clock.now().toISOString()
  await patchIfUnchanged(context, ClusterDeployment, cluster, {
    spec: { powerState: 'Running', clusterPoolRef: { claimName: claim.name, claimedTimestamp } },
  })
}

const queueClaim = async (context: ExecuteContext, { claim, position, why }: ActionOf<'QueueClaim'>): Promise<void> => {
  const seen = context.objects.claims.find(({ metadata }) => metadata.name === claim.name)
  const pending = { type: 'Pending', status: 'True', reason: 'NoClusters', message: why } as const
  const conditions = withConditions(seen?.status?.conditions, [pending], context.clock.now())
  const status = { queuePosition: position, conditions }
  await patchIfUnchanged(context, ClusterClaim, claimTarget(context, claim), { status }, 'status')
}

const claimTarget = ({ pool }: ExecuteContext, seen: { readonly name: string; readonly resourceVersion: string }) => ({
  ...seen,
  namespace: pool.metadata.namespace ?? '',
})
