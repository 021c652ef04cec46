/** Carries out what was decided about a claim: its status, its cluster's mark, its finalizer. What its subjects are granted: grant-writes.ts. */
import { isDeepStrictEqual } from 'node:util'
import { ClusterClaim, type ClusterClaimStatus } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { CLAIM_FINALIZER, REMOVE_ANNOTATIONS } from '#apis/hive.openshift.io/v1/labels.ts'
import { type Api, type Context, TemporaryError } from '#operator/index.ts'
import { kstatusConditions, withConditions } from '#operator/model/conditions.ts'
import type { Decision } from './decide.ts'
import { revokeGrants } from './grant-writes.ts'
import type { ClaimIndexes } from './observe.ts'
import { isNamespaceOfCluster } from './pool-namespace.ts'

/** @returns the claim with its finalizer */
export const addFinalizer = async ({ object, api }: Context<ClusterClaim>): Promise<ClusterClaim> => {
  const { finalizers = [], deletionTimestamp } = object.metadata
  if (deletionTimestamp !== undefined || finalizers.includes(CLAIM_FINALIZER)) return object
  return api.patchIfUnchanged(ClusterClaim, object, { metadata: { finalizers: [...finalizers, CLAIM_FINALIZER] } })
}

/** Writes the status when it is a new one. A claim that waits has its condition Pending from its pool (QueueClaim there). */
export const writeStatus = async (
  { metadata, spec, status }: ClusterClaim,
  { kstatus, conditions, lifetime, apiURL }: Decision,
  { api, clock }: Context<ClusterClaim>,
): Promise<void> => {
  if (kstatus === undefined) return
  const claims = [...kstatusConditions({ ...kstatus, observedGeneration: metadata.generation }), ...conditions]
  const { apiURL: _, ...before } = status ?? {}
  const next: ClusterClaimStatus = {
    ...before,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    conditions: [...withConditions(status?.conditions, claims, clock.now())],
    ...(spec.namespace !== undefined && { queuePosition: 0 }),
    ...(lifetime !== undefined && { lifetime: String(lifetime) }),
    ...(apiURL !== undefined && { apiURL }),
  }
  if (isDeepStrictEqual(next, status)) return
  await api.patchIfUnchanged(
    ClusterClaim,
    { metadata },
    { status: { lifetime: null, apiURL: null, ...next } },
    'status',
  )
}

/** Carries out what was decided about a claim. @throws ApiError, with 409 when an object was written since, NetworkError, TemporaryError */
export const execute = async (
  claim: ClusterClaim,
  cluster: ClusterDeployment | undefined,
  { action, conditions }: Decision,
  indexes: ClaimIndexes,
  { api, events, object }: Context<ClusterClaim>,
): Promise<void> => {
  const { name, namespace, uid } = claim.metadata
  switch (action) {
    case 'None':
      return
    case 'DeleteClaim':
      events.normal(
        'LifetimeOver',
        `claim ${name} is deleted: its lifetime of ${claim.status?.lifetime ?? claim.spec.lifetime} is over`,
      )
      return api.delete(ClusterClaim, name, namespace, { uid })
    case 'GrantSubjects': {
      // Done before its status was written, which says whether it could be.
      const was = object.status?.conditions?.find(({ type }) => type === 'Pending')
      const says = conditions.find(({ type }) => type === 'Pending')
      if (says !== undefined && was?.reason !== says.reason)
        events.normal('ClusterClaimed', `claim ${name} has the cluster in namespace ${claim.spec.namespace}`)
      return
    }
    case 'MarkCluster': {
      if (cluster === undefined) return
      await revokeGrants(claim, indexes, api)
      await api.patchIfUnchanged(ClusterDeployment, cluster, {
        metadata: { annotations: { [REMOVE_ANNOTATIONS[0]]: 'true' } },
      })
      return
    }
    case 'LetGo': {
      // A cache that does not show the cluster is no proof that it is gone.
      if (await isClusterClaimed(claim, api))
        throw new TemporaryError(`cluster ${claim.spec.namespace} is still claimed, though the cache does not show it`)
      await revokeGrants(claim, indexes, api)
      const finalizers = (claim.metadata.finalizers ?? []).filter((one) => one !== CLAIM_FINALIZER)
      await api.patchIfUnchanged(ClusterClaim, claim, { metadata: { finalizers } })
    }
  }
}

/** A cluster has the name of its namespace. */
const isClusterClaimed = async ({ spec, metadata }: ClusterClaim, api: Api): Promise<boolean> => {
  if (spec.namespace === undefined) return false
  const found = await api.get(ClusterDeployment, spec.namespace, spec.namespace)
  const pool = found?.spec.clusterPoolRef
  const isNamed = pool?.claimName === metadata.name && pool.namespace === metadata.namespace
  return isNamed && (await isNamespaceOfCluster(spec.namespace, api))
}
