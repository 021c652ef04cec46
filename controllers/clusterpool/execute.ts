/** Carries out what a pass decided, write by write. One action's failure never stops the others. */
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RoleBinding } from '#apis/kubernetes.ts'
import { isConflict, isNotFound } from '#operator/index.ts'
import { withConditions } from '#operator/model/conditions.ts'
import { adminBindingManifest } from './cluster/manifests.ts'
import { ADMIN_BINDING } from './decide/admin-bindings.ts'
import { Overtaken, patchSeen, type Work } from './execute/context.ts'
import { createCluster, FIELD_MANAGER, RefusedError } from './execute/create-cluster.ts'
import { deleteEmpty, letPoolGo } from './execute/delete-empty.ts'
import { releaseLease, writeLease } from './lease/lease-writes.ts'
import type { Action } from './model/plan.ts'

/** What became of one action. */
export type Result =
  | {
      readonly action: Action
      /** Overtaken: somebody else wrote first, or the world has changed; the next pass sees it. */
      readonly result: 'done' | 'overtaken'
    }
  | {
      readonly action: Action
      /** Refused: trying again at once changes nothing. */
      readonly result: 'refused' | 'failed'
      readonly error: Error
    }

/** Clusters are made side by side: each takes half a dozen requests one after the other. */
const AT_ONCE = 8
/** A pass that makes more would keep claims waiting; the rest is made in the next one. */
const MOST_CREATIONS = 40

/** @param signal Ends between two actions: what was not begun is not in the results. */
export const carryOut = async (
  actions: readonly Action[],
  work: Work,
  signal: AbortSignal,
): Promise<readonly Result[]> => {
  const results: Result[] = []
  const isCreation = ({ action }: Action) => action === 'CreateCluster'
  for (const action of actions) {
    if (signal.aborted) return results
    if (!isCreation(action)) results.push(await attempt(action, work))
  }
  const creations = actions.filter(isCreation).slice(0, MOST_CREATIONS).values()
  const worker = async () => {
    for (const action of creations) {
      if (signal.aborted) return
      results.push(await attempt(action, work))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

const attempt = async (action: Action, work: Work): Promise<Result> => {
  try {
    await execute(action, work)
    return { action, result: 'done' }
  } catch (error) {
    if (error instanceof Overtaken || isConflict(error) || isNotFound(error)) return { action, result: 'overtaken' }
    if (error instanceof RefusedError) return { action, result: 'refused', error }
    return { action, result: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
  }
}

const execute = async (action: Action, work: Work): Promise<void> => {
  const { api, pool } = work
  switch (action.action) {
    case 'WriteStatus':
      return writeStatus(work, action.status)
    case 'CreateCluster':
      return createCluster(work, action)
    case 'DeleteCluster': {
      const { name, namespace, uid, resourceVersion } = action.cluster
      return api.delete(ClusterDeployment, name, namespace, { uid, resourceVersion })
    }
    case 'HealLease':
      return writeLease(work, action.customization, action.cluster)
    case 'ReleaseLease':
      return releaseLease(work, action.customization)
    case 'LetClusterGo':
      return letClusterGo(work, action)
    case 'AssignClaim':
      return assignClaim(work, action)
    case 'ClearClaim':
      await patchSeen(work, ClusterClaim, inPoolsNamespace(work, action.claim), { spec: { namespace: null } })
      return
    case 'QueueClaim':
      return queueClaim(work, action)
    case 'SetPower':
      await patchSeen(work, ClusterDeployment, action.cluster, { spec: { powerState: action.power } })
      return
    case 'BindAdmins':
      if (action.subjects.length === 0) return api.delete(RoleBinding, ADMIN_BINDING, action.namespace)
      await api.apply(RoleBinding, adminBindingManifest(pool, action), { fieldManager: FIELD_MANAGER, force: true })
      return
    case 'DeleteNamespace':
      return deleteEmpty(work, action)
    case 'LetPoolGo':
      return letPoolGo(work)
    case 'Wait':
  }
}

type Of<Name extends Action['action']> = Extract<Action, { readonly action: Name }>

/** The whole of it: an entry of the inventory that is not in it goes. */
const writeStatus = async ({ api, pool, recent, clock }: Work, status: Of<'WriteStatus'>['status']): Promise<void> => {
  recent.note(ClusterPool, await api.replace(ClusterPool, { ...pool, status }, 'status'), clock.now())
}

/** Seed: the finalizer "prevents it from getting deleted before releasing the lease". */
const letClusterGo = async (work: Work, { cluster, customization }: Of<'LetClusterGo'>): Promise<void> => {
  if (customization !== undefined) await releaseLease(work, customization)
  // Nothing but the lease's finalizer is left on it: that is what the plan saw at this resourceVersion.
  await patchSeen(work, ClusterDeployment, cluster, { metadata: { finalizers: [] } })
}

/** The claim's side first, because its namespace decides; the other side is written in the next pass when this one is cut off. */
const assignClaim = async (work: Work, { claim, cluster }: Of<'AssignClaim'>): Promise<void> => {
  if (claim.namespace === undefined)
    await patchSeen(work, ClusterClaim, inPoolsNamespace(work, claim), { spec: { namespace: cluster.namespace } })
  if (cluster.claim !== undefined) return
  const claimedTimestamp = work.clock.now().toISOString()
  await patchSeen(work, ClusterDeployment, cluster, {
    spec: { powerState: 'Running', clusterPoolRef: { claimName: claim.name, claimedTimestamp } },
  })
}

const queueClaim = async (work: Work, { claim, position, why }: Of<'QueueClaim'>): Promise<void> => {
  const seen = work.read.claims.find(({ metadata }) => metadata.name === claim.name)
  const pending = { type: 'Pending', status: 'True', reason: 'NoClusters', message: why } as const
  const conditions = withConditions(seen?.status?.conditions, [pending], work.clock.now())
  const status = { queuePosition: position, conditions }
  await patchSeen(work, ClusterClaim, inPoolsNamespace(work, claim), { status }, 'status')
}

const inPoolsNamespace = ({ pool }: Work, seen: { readonly name: string; readonly resourceVersion: string }) => ({
  ...seen,
  namespace: pool.metadata.namespace ?? '',
})
