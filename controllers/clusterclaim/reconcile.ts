/** Looks after one claim: what it says, who may use its cluster, and that the cluster goes with it. */
import { isDeepStrictEqual } from 'node:util'
import { ClusterClaim, type ClusterClaimStatus } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { CLAIM_FINALIZER, REMOVE_ANNOTATIONS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Role, RoleBinding } from '#apis/kubernetes.ts'
import {
  type Api,
  ApiError,
  type Context,
  type Index,
  isConflict,
  isNotFound,
  type KubeObject,
  type MayWait,
  TemporaryError,
} from '#operator/index.ts'
import { kstatusConditions, withConditions } from '#operator/model/conditions.ts'
import { type ClaimedCluster, type Decision, decide, withGrantRejection } from './decide.ts'
import { buildGrants, CLAIM_UID_LABEL, GRANT_NAME } from './grants.ts'

/** Where a claim looks up what it is about. */
export interface View {
  /** By `namespace/name`. */
  readonly pool: Index<string, ClusterPool>
  /** By namespace. */
  readonly clusters: Index<string, ClusterDeployment>
  readonly roles: Index<string, Role>
  readonly bindings: Index<string, RoleBinding>
}

const FIELD_MANAGER = 'muster-clusterclaim'
/** After a write that lost against another one; the watch is usually quicker. Milliseconds. */
const CONFLICT_RETRY_MS = 1_000

/** @returns the handler of `reconcile` */
export const reconcile =
  (view: View) =>
  async (context: Context<ClusterClaim>): Promise<MayWait> => {
    try {
      return await pass(view, context)
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return { requeueAfter: CONFLICT_RETRY_MS }
      throw error
    }
  }

const pass = async (view: View, context: Context<ClusterClaim>): Promise<MayWait> => {
  const claim = await addFinalizer(context)
  const cluster = findCluster(claim, view)
  const [pool] = view.pool.get(`${claim.metadata.namespace}/${claim.spec.clusterPoolName}`)
  const now = context.clock.now()
  const observed = {
    name: claim.metadata.name,
    deleting: claim.metadata.deletionTimestamp !== undefined,
    spec: claim.spec,
    pool: pool && { limits: pool.spec.claimLifetime, deleting: pool.metadata.deletionTimestamp !== undefined },
    cluster: cluster && describeCluster(cluster),
  }
  const decided = decide(observed, now)
  const refusal =
    decided.action === 'GrantSubjects' && cluster && (await grantSubjects(claim, cluster, view, context.api))
  const decision = refusal ? withGrantRejection(decided, observed, refusal) : decided
  await writeStatus(claim, decision, context)
  await execute(claim, cluster, decision, view, context)
  if (refusal) throw refusal
  const { recheckAt } = decision
  return recheckAt && { requeueAfter: Math.max(0, recheckAt.getTime() - now.getTime()) }
}

/** The pool's cluster in the namespace that the claim names; whose it is, its own reference says. */
const findCluster = ({ spec, metadata }: ClusterClaim, { clusters }: View): ClusterDeployment | undefined =>
  clusters
    .get(spec.namespace ?? '')
    .find(
      ({ spec: { clusterPoolRef } }) =>
        clusterPoolRef?.namespace === metadata.namespace && clusterPoolRef?.poolName === spec.clusterPoolName,
    )

const describeCluster = ({ metadata, spec, status }: ClusterDeployment): ClaimedCluster => {
  const { claimName, claimedTimestamp } = spec.clusterPoolRef ?? {}
  return {
    claim: claimName,
    claimedAt: claimedTimestamp === undefined ? undefined : Date.parse(claimedTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    marked: isMarked(metadata.annotations),
    power: status?.powerState,
    hibernationDesired: spec.powerState === 'Hibernating',
  }
}

const isMarked = (annotations: Readonly<Record<string, string>> = {}): boolean =>
  REMOVE_ANNOTATIONS.some((annotation) => annotations[annotation] === 'true')

const addFinalizer = async ({ object, api }: Context<ClusterClaim>): Promise<ClusterClaim> => {
  const { finalizers = [], deletionTimestamp, name, namespace, resourceVersion } = object.metadata
  if (deletionTimestamp !== undefined || finalizers.includes(CLAIM_FINALIZER)) return object
  const metadata = { resourceVersion, finalizers: [...finalizers, CLAIM_FINALIZER] }
  return api.patch(ClusterClaim, { name, namespace, type: 'merge', body: { metadata } })
}

/** Says it only when it says something new. Who waits is told by the pool (see QueueClaim there). */
const writeStatus = async (
  { metadata, spec, status }: ClusterClaim,
  { standing, conditions, lifetime }: Decision,
  { api, clock }: Context<ClusterClaim>,
): Promise<void> => {
  if (standing === undefined) return
  const claims = [...kstatusConditions({ ...standing, observedGeneration: metadata.generation }), ...conditions]
  const next: ClusterClaimStatus = {
    ...status,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    conditions: [...withConditions(status?.conditions, claims, clock.now())],
    ...(spec.namespace !== undefined && { queuePosition: 0 }),
    ...(lifetime !== undefined && { lifetime: String(lifetime) }),
  }
  if (isDeepStrictEqual(next, status)) return
  const { name, namespace, resourceVersion } = metadata
  const body = { metadata: { resourceVersion }, status: { lifetime: null, ...next } }
  await api.patch(ClusterClaim, { name, namespace, subresource: 'status', type: 'merge', body })
}

const execute = async (
  claim: ClusterClaim,
  cluster: ClusterDeployment | undefined,
  { action, conditions }: Decision,
  view: View,
  { api, events, object }: Context<ClusterClaim>,
): Promise<void> => {
  const { name, namespace, uid } = claim.metadata
  switch (action) {
    case 'None':
      return
    case 'DeleteClaim':
      events.normal('LifetimeOver', `its lifetime of ${claim.status?.lifetime ?? claim.spec.lifetime} is over`)
      return api.delete(ClusterClaim, name, namespace, { uid })
    case 'GrantSubjects': {
      // Done before its status was written, which says whether it could be.
      const was = object.status?.conditions?.find(({ type }) => type === 'Pending')
      const says = conditions.find(({ type }) => type === 'Pending')
      if (says !== undefined && was?.reason !== says.reason)
        events.normal('ClusterClaimed', `the cluster is in namespace ${claim.spec.namespace}`)
      return
    }
    case 'MarkCluster': {
      if (cluster === undefined) return
      await revokeGrants(claim, view, api)
      const { metadata } = cluster
      const body = {
        metadata: { resourceVersion: metadata.resourceVersion, annotations: { [REMOVE_ANNOTATIONS[0]]: 'true' } },
      }
      await api.patch(ClusterDeployment, { ...metadata, type: 'merge', body })
      return
    }
    case 'LetGo': {
      // A cache that does not show the cluster is no proof that it is gone.
      if (await isClusterClaimed(claim, api))
        throw new TemporaryError('its cluster was not seen yet', { delay: CONFLICT_RETRY_MS })
      await revokeGrants(claim, view, api)
      const finalizers = (claim.metadata.finalizers ?? []).filter((one) => one !== CLAIM_FINALIZER)
      const { resourceVersion } = claim.metadata
      await api.patch(ClusterClaim, {
        name,
        namespace,
        type: 'merge',
        body: { metadata: { resourceVersion, finalizers } },
      })
    }
  }
}

/** A cluster has the name of its namespace. */
const isClusterClaimed = async ({ spec, metadata }: ClusterClaim, api: Api): Promise<boolean> => {
  if (spec.namespace === undefined) return false
  const found = await api.get(ClusterDeployment, spec.namespace, spec.namespace)
  const pool = found?.spec.clusterPoolRef
  return pool?.claimName === metadata.name && pool.namespace === metadata.namespace
}

/**
 * Lets the subjects in, or out when there are none any more.
 * @returns what the API server refused; undefined when all is as it should be
 * @throws ApiError when the object was written since or the namespace is gone, NetworkError
 */
const grantSubjects = async (
  claim: ClusterClaim,
  cluster: ClusterDeployment,
  view: View,
  api: Api,
): Promise<ApiError | undefined> => {
  try {
    await applyGrants(claim, cluster, view, api)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError) || isConflict(error) || isNotFound(error)) throw error
    return error
  }
}

/** Writes what was granted where it is not as it should be; without subjects nothing is. */
const applyGrants = async (claim: ClusterClaim, cluster: ClusterDeployment, view: View, api: Api): Promise<void> => {
  const desired = buildGrants(claim, cluster)
  if (desired === undefined) return revokeGrants(claim, view, api)
  const { role, binding } = desired
  const { namespace } = binding.metadata
  const options = { fieldManager: FIELD_MANAGER, force: true }
  const isThere = ({ metadata }: KubeObject) =>
    metadata.name === GRANT_NAME && metadata.labels?.[CLAIM_UID_LABEL] === claim.metadata.uid
  const writtenRole = view.roles.get(namespace).find(isThere)
  if (!isDeepStrictEqual(writtenRole?.rules, role.rules)) await api.apply(Role, role, options)
  const writtenBinding = view.bindings.get(namespace).find(isThere)
  const isSame =
    isDeepStrictEqual(writtenBinding?.subjects, binding.subjects) &&
    isDeepStrictEqual(writtenBinding?.roleRef, binding.roleRef)
  if (!isSame) await api.apply(RoleBinding, binding, options)
}

/** Only what was granted for this claim. */
const revokeGrants = async ({ spec, metadata }: ClusterClaim, view: View, api: Api): Promise<void> => {
  const namespace = spec.namespace ?? ''
  const isOurs = (object: KubeObject) => object.metadata.labels?.[CLAIM_UID_LABEL] === metadata.uid
  for (const { metadata: at } of view.bindings.get(namespace).filter(isOurs))
    await api.delete(RoleBinding, at.name, at.namespace, { uid: at.uid })
  for (const { metadata: at } of view.roles.get(namespace).filter(isOurs))
    await api.delete(Role, at.name, at.namespace, { uid: at.uid })
}
