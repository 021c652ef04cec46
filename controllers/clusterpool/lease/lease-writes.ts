/** The writes of a lease: POOL-2. What they mean: lease.ts. */

import { buildPatchConditions } from '#apis/hive.openshift.io/model/customization-conditions.ts'
import {
  ClusterDeploymentCustomization,
  type ClusterDeploymentCustomizationStatus,
} from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type ConditionInput, withConditions } from '#operator/model/conditions.ts'
import type { ObjectMeta } from '#operator/model/resource.ts'
import { type ExecuteContext, patchIfUnchanged, StaleWriteError } from '../execute/context.ts'
import type { Cluster } from '../model/cluster.ts'
import type { CustomizationState } from '../model/customization-state.ts'
import { isSame, type NamespacedName } from '../model/names.ts'
import type { PoolObjects } from '../model/observed.ts'
import { formatAppliedPatches } from './applied-patches.ts'
import { type LeaseEnd, withHolder } from './history.ts'
import { conditionsFor, holderConditions } from './lease-conditions.ts'

/**
 * Writes the finalizer, then the lease; both writes are guarded by the resourceVersion that was read. A manager that slept between
 * its own lease and its cluster may make that cluster while the lease is taken from it: either it is registered before, which changes the
 * customization and refuses this write, or never. POOL-58.
 * @param found Conditions of the customization besides those of the lease.
 * @throws ApiError, NetworkError
 */
export const writeLease = async (
  context: ExecuteContext,
  customization: CustomizationState,
  cluster: NamespacedName,
  found: readonly ConditionInput[] = [],
): Promise<void> => {
  await writeHolder(context, customization, cluster, found, {
    lastAppliedConfiguration: formatAppliedPatches(customization.patches),
    registeredUid: null,
  })
}

/**
 * Writes a lease again that does not name the cluster which uses the customization. What was applied to that cluster stays written: the
 * patches may have been edited since (POOL-8). @throws ApiError, NetworkError
 */
export const repairLease = async (
  context: ExecuteContext,
  customization: CustomizationState,
  cluster: Cluster,
): Promise<void> => {
  // From a backup, where versions begin anew, the patches are taken for those that were applied: otherwise every restored cluster is outdated.
  const isSame = cluster.customizationVersion === customization.version || customization.restoring
  const applied = isSame ? { lastAppliedConfiguration: formatAppliedPatches(customization.patches) } : {}
  await writeHolder(context, customization, cluster, [], applied)
}

const writeHolder = async (
  context: ExecuteContext,
  customization: CustomizationState,
  cluster: NamespacedName,
  found: readonly ConditionInput[],
  applied: Pick<StatusChange, 'lastAppliedConfiguration' | 'registeredUid'>,
): Promise<void> => {
  const { name, namespace } = context.pool.metadata
  const protectedVersion = await addFinalizer(context, customization)
  await writeStatus(context, customization, protectedVersion, (generation) => ({
    conditions: [...holderConditions(name, cluster, generation), ...found],
    clusterDeploymentRef: { name: cluster.name, namespace: cluster.namespace },
    clusterPoolRef: { name, namespace: namespace ?? '' },
    ...applied,
  }))
}

/** What writing a lease needs: a pass has it, and so has what releases the leases of a pool that is gone. */
export interface LeaseContext extends Pick<ExecuteContext, 'api' | 'clock' | 'writeCache'> {
  readonly pool: { readonly metadata: Pick<ObjectMeta, 'namespace'> }
  readonly objects: Pick<PoolObjects, 'customizations'>
}

/** Writes that no cluster leases it, then removes the finalizer. @throws ApiError, NetworkError */
export const releaseLease = async (
  context: LeaseContext,
  customization: CustomizationVersion,
  end: LeaseEnd,
): Promise<void> => {
  const { status } = findObserved(context, customization)
  const history = withHolder(status, end, context.clock.now())
  const released = await writeStatus(context, customization, customization.resourceVersion, (generation) => ({
    conditions: [
      { type: 'Available', status: 'True', reason: 'Available', message: 'No cluster uses it', ...generation },
    ],
    clusterDeploymentRef: null,
    clusterPoolRef: null,
    registeredUid: null,
    ...(history.length > 0 && { history }),
  }))
  const { finalizers = [] } = released.metadata
  if (!finalizers.includes(LEASE_FINALIZER)) return
  const rest = finalizers.filter((finalizer) => finalizer !== LEASE_FINALIZER)
  const { resourceVersion } = released.metadata
  await patchIfUnchanged(
    context,
    ClusterDeploymentCustomization,
    writeTarget(context, customization, resourceVersion),
    {
      metadata: { finalizers: rest },
    },
  )
}

/** Looks again whether the lease is held: between taking it and creating the cluster another manager may have judged it abandoned. */
export const requireLease = async (
  { api, pool }: ExecuteContext,
  { name }: CustomizationState,
  cluster: NamespacedName,
): Promise<void> => {
  const found = await api.get(ClusterDeploymentCustomization, name, pool.metadata.namespace)
  const held = found?.status?.clusterDeploymentRef
  if (held === undefined || !isSame(held, cluster))
    throw new StaleWriteError(`the lease of ${name} for cluster ${cluster.name} is not held any more`)
}

/** No finalizer can be added to what is being deleted. @returns the resourceVersion after it */
const addFinalizer = async (context: ExecuteContext, customization: CustomizationState): Promise<string> => {
  if (customization.protected || customization.deleting) return customization.resourceVersion
  const { finalizers = [] } = findObserved(context, customization).metadata
  const { metadata } = await patchIfUnchanged(
    context,
    ClusterDeploymentCustomization,
    writeTarget(context, customization),
    {
      metadata: { finalizers: [...finalizers, LEASE_FINALIZER] },
    },
  )
  return metadata.resourceVersion
}

type StatusChange = Omit<
  ClusterDeploymentCustomizationStatus,
  'conditions' | 'clusterDeploymentRef' | 'clusterPoolRef' | 'registeredUid' | 'lastAppliedConfiguration'
> & {
  readonly conditions: readonly ConditionInput[]
  readonly clusterDeploymentRef: NamespacedName | null
  readonly clusterPoolRef: NamespacedName | null
  readonly registeredUid?: null
  readonly lastAppliedConfiguration?: string | null
}

/** As much of a customization as its writes need. */
type CustomizationVersion = Pick<CustomizationState, 'name' | 'resourceVersion'>

const writeStatus = async (
  context: LeaseContext,
  customization: CustomizationVersion,
  resourceVersion: string,
  change: (generation: Pick<ConditionInput, 'observedGeneration'>) => StatusChange,
): Promise<ClusterDeploymentCustomization> => {
  const seen = findObserved(context, customization)
  const { status, metadata } = seen
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  const changed = change(generation)
  const claims = [...buildPatchConditions(seen), ...changed.conditions]
  const before = conditionsFor(status, changed.clusterDeploymentRef)
  const conditions = withConditions(before, claims, context.clock.now())
  return patchIfUnchanged(
    context,
    ClusterDeploymentCustomization,
    writeTarget(context, customization, resourceVersion),
    { status: { ...changed, ...generation, conditions } },
    'status',
  )
}

const writeTarget = (
  { pool }: LeaseContext,
  { name, resourceVersion }: CustomizationVersion,
  written = resourceVersion,
) => ({
  name,
  namespace: pool.metadata.namespace ?? '',
  resourceVersion: written,
})

const findObserved = ({ objects }: LeaseContext, { name }: CustomizationVersion): ClusterDeploymentCustomization => {
  const found = objects.customizations.find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new StaleWriteError(`customization ${name} is not there any more`)
  return found
}
