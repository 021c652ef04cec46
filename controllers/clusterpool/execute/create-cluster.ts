/** Makes a cluster: its lease, its namespace, whose pods it closes, its Secrets, the rights of its provider there, and last of all itself. Each step may be done again. */

import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS, PROVIDER_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, NetworkPolicy, Secret } from '#apis/kubernetes.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { ApiError, isAlreadyExists, isConflict, isNotFound, NetworkError } from '#operator/index.ts'
import {
  copiedSecretManifest,
  deploymentManifest,
  installConfigManifest,
  namespaceManifest,
} from '../cluster/manifests.ts'
import { isMadeByPool } from '../cluster/namespace-origin.ts'
import { networkPolicyManifests } from '../cluster/network-policies.ts'
import { CLUSTERPOOL_ERRORS } from '../errors.ts'
import { requireLease, writeLease } from '../lease/lease-writes.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { keyOf } from '../model/names.ts'
import { toObserved } from '../model/observed.ts'
import type { Action } from '../model/plan.ts'
import { nextCreationFailure, WITHOUT_CUSTOMIZATION } from '../observe/creation-failures.ts'
import { nextRejection } from '../observe/rejections.ts'
import { bindProvider } from './bind-provider.ts'
import { type ExecuteContext, FIELD_MANAGER, StaleWriteError } from './context.ts'
import { deleteEmptyNamespace, StrangeNamespaceError } from './delete-empty.ts'
import { PreflightError, requirePreflight } from './preflight.ts'

type Creation = Extract<Action, { readonly action: 'CreateCluster' }>

/** The API server does not take the cluster as it was rendered: trying again at once changes nothing. */
export class ClusterRejectedError extends errorOf(CLUSTERPOOL_ERRORS, 'ClusterRejectedError') {
  constructor(cluster: string, cause: ApiError) {
    super(`the API server refuses cluster ${cluster}: ${cause.message}`, { cause })
  }
}

/** @throws ApiError, NetworkError, StaleWriteError, ClusterRejectedError */
export const createCluster = async (context: ExecuteContext, creation: Creation): Promise<void> => {
  const { customization, cluster, lease } = creation
  const { ofCreations } = context.rejections
  const name = customization?.name ?? WITHOUT_CUSTOMIZATION
  let isLeased = customization === undefined || lease === 'held'
  try {
    if (customization !== undefined && !isLeased) await takeLease(context, customization, creation)
    isLeased = true
    await createParts(context, creation)
    ofCreations.delete(name)
  } catch (error) {
    const isOther =
      error instanceof StaleWriteError ||
      error instanceof ClusterRejectedError ||
      // A connection that broke says nothing of this cluster: it is tried again at once, and no customization rests for it.
      error instanceof NetworkError ||
      isConflict(error) ||
      isNotFound(error)
    if (isOther || !(error instanceof Error)) throw error
    // A name that is not fit rests like a cluster that could not be made: it is not asked for again in every pass.
    const rests = isLeased || error instanceof PreflightError
    const tried = {
      cluster: keyOf(cluster),
      version: customization?.version ?? '',
      message: error.message,
      isLeased: rests,
    }
    ofCreations.set(name, nextCreationFailure(ofCreations.get(name), tried, context.clock.now()))
    throw error
  }
}

const takeLease = async (
  context: ExecuteContext,
  customization: CustomizationState,
  { cluster, documents }: Creation,
): Promise<void> => {
  const isAsked = context.pool.spec.inventory?.preflight === true
  const found = isAsked ? [await requirePreflight(context, customization, documents.installConfig)] : []
  await writeLease(context, customization, cluster, found)
}

const createParts = async (context: ExecuteContext, creation: Creation): Promise<void> => {
  const { api, pool } = context
  const { customization, cluster } = creation
  context.unfinishedClusters.delete(keyOf(cluster))
  const namespace = await createNamespace(context, creation)
  // No lease leads back to it. Each try would leave another namespace behind, and wake the pool for the next one.
  if (customization === undefined) context.unfinishedClusters.set(keyOf(cluster), cluster)
  await closePods(context, creation)
  const secrets = [
    installConfigManifest(pool, creation),
    ...context.secrets.map((secret) => copiedSecretManifest(pool, creation, secret)),
  ]
  for (const secret of secrets) await api.apply(Secret, secret, { fieldManager: FIELD_MANAGER, force: true })
  // Before there is a cluster that its provider would look at.
  const roles = (context.objects.providerRoles ?? []).filter(
    ({ provider }) => provider === pool.spec.labels?.[PROVIDER_LABEL],
  )
  for (const role of roles) {
    try {
      await bindProvider(context, { namespace: namespace.metadata.name, role, there: undefined })
    } catch (error) {
      // Any author of ClusterRoles may write one that pools may not bind. The next pass tries it again, and tells.
      if (!isForbidden(error)) throw error
    }
  }
  await requirePool(context)
  if (customization !== undefined) await requireLease(context, customization, cluster)
  try {
    await createDeployment(context, creation)
    context.unfinishedClusters.delete(keyOf(cluster))
  } catch (error) {
    if (!(error instanceof ApiError && REJECTION_STATUSES.has(error.status))) throw error
    recordRejection(context, creation, error)
    context.unfinishedClusters.delete(keyOf(cluster))
    if (customization === undefined) await deleteEmptyNamespace(context, namespace.metadata)
    throw new ClusterRejectedError(cluster.name, error)
  }
}

/** 400 and 422: what was sent is wrong, not the moment. */
const REJECTION_STATUSES: ReadonlySet<number> = new Set([400, 422])

/** A pool without inventory says it of all its clusters, each of which has another name: tried again, it says the same. */
const recordRejection = (
  { rejections, objects, clock }: ExecuteContext,
  { customization, cluster }: Creation,
  { message }: ApiError,
): void => {
  if (customization !== undefined)
    rejections.ofCustomizations.set(customization.name, { version: customization.version, message })
  else
    rejections.ofPool = nextRejection(
      toObserved({ ...objects, refusal: rejections.ofPool }),
      message.replaceAll(cluster.name, `${objects.pool.metadata.name}-…`),
      clock.now(),
    )
}

const createNamespace = async (context: ExecuteContext, creation: Creation): Promise<Namespace> => {
  const { api, writeCache, clock, pool } = context
  const manifest = namespaceManifest(pool, creation, context.podSecurity)
  const { name } = manifest.metadata
  try {
    const created = await api.create(Namespace, manifest)
    writeCache.record(Namespace, created, clock.now(), true)
    return created
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
  const found = await api.get(Namespace, name)
  if (found === undefined || found.metadata.deletionTimestamp !== undefined)
    throw new Error(`namespace ${name} is being deleted, and has not ended yet`)
  if (found.metadata.labels?.[POOL_LABELS.uid] !== pool.metadata.uid)
    throw new Error(
      `namespace ${name} is not of pool ${pool.metadata.name}: its label ${POOL_LABELS.uid} says otherwise`,
    )
  // Its maker may read what is in it, and Secrets would be (POOL-59).
  if (!isMadeByPool(found))
    throw new StrangeNamespaceError(
      `namespace ${name} carries the label of pool ${pool.metadata.name}, which did not make it`,
    )
  return found
}

/** Before there is anything that a pod could use. A policy that is there stays as it is, since pools may change none. POOL-86. */
const closePods = async ({ api, pool, podNetwork }: ExecuteContext, { cluster }: Creation): Promise<void> => {
  if (podNetwork === 'open') return
  for (const policy of networkPolicyManifests(pool, cluster.namespace)) {
    try {
      await api.create(NetworkPolicy, policy)
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  }
}

const createDeployment = async (
  { api, writeCache, clock, pool }: ExecuteContext,
  creation: Creation,
): Promise<void> => {
  try {
    const created = await api.create(ClusterDeployment, deploymentManifest(pool, creation))
    writeCache.record(ClusterDeployment, created, clock.now(), true)
  } catch (error) {
    // An earlier try whose answer was lost, or another manager that finishes the same lease.
    if (!isAlreadyExists(error)) throw error
  }
}

/** A pool that is being deleted, or another one of its name, does not look after the cluster. */
const requirePool = async ({ api, pool }: ExecuteContext): Promise<void> => {
  const { name, namespace, uid } = pool.metadata
  const found = await api.get(ClusterPool, name, namespace)
  if (found?.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined)
    throw new StaleWriteError(`pool ${name} is being deleted`)
}
