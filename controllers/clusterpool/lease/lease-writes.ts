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
import { type CustomizationState, isSame, type NamespacedName, type PoolObjects } from '../model/observed.ts'

/** Writes the finalizer, then the lease; both writes are guarded by the resourceVersion that was read. @throws ApiError, NetworkError */
export const writeLease = async (
  context: ExecuteContext,
  customization: CustomizationState,
  cluster: NamespacedName,
): Promise<void> => {
  const { name, namespace } = context.pool.metadata
  const protectedVersion = await addFinalizer(context, customization)
  await writeStatus(context, customization, protectedVersion, (generation) => ({
    conditions: [
      {
        type: 'Available',
        status: 'False',
        reason: 'ClusterDeploymentCustomizationInUse',
        message: `Currently in use by cluster deployment ${cluster.name} of clusterpool ${name}`,
        ...generation,
      },
      {
        type: 'Applied',
        status: 'True',
        reason: 'Applied',
        message: `Applied to the install-config of cluster ${cluster.name}; what became of that one, its pool says`,
        ...generation,
      },
    ],
    clusterDeploymentRef: { name: cluster.name, namespace: cluster.namespace },
    clusterPoolRef: { name, namespace: namespace ?? '' },
    lastAppliedConfiguration: formatAppliedPatches(customization),
  }))
}

/** What writing a lease needs: a pass has it, and who releases the lease of a pool that is gone. */
export interface LeaseContext extends Pick<ExecuteContext, 'api' | 'clock' | 'writeCache'> {
  readonly pool: { readonly metadata: Pick<ObjectMeta, 'namespace'> }
  readonly objects: Pick<PoolObjects, 'customizations'>
}

/** Writes that no cluster leases it, then removes the finalizer. @throws ApiError, NetworkError */
export const releaseLease = async (context: LeaseContext, customization: CustomizationVersion): Promise<void> => {
  const released = await writeStatus(context, customization, customization.resourceVersion, (generation) => ({
    conditions: [
      { type: 'Available', status: 'True', reason: 'Available', message: 'No cluster uses it', ...generation },
    ],
    clusterDeploymentRef: null,
    clusterPoolRef: null,
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

/** As the CRD has it. */
const MAX_APPLIED_CHARS = 262_144

/** Null, which leaves it out, when there is no room for all of it: half of it would be no JSON, and no lease must fail for it. */
const formatAppliedPatches = ({
  patches: { installConfigPatches, clusterDeploymentSpecPatches },
}: CustomizationState): string | null => {
  const text = JSON.stringify({
    ...(installConfigPatches !== undefined && { installConfigPatches }),
    ...(clusterDeploymentSpecPatches !== undefined && { clusterDeploymentSpecPatches }),
  })
  return text.length <= MAX_APPLIED_CHARS ? text : null
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
  'conditions' | 'clusterDeploymentRef' | 'clusterPoolRef' | 'lastAppliedConfiguration'
> & {
  readonly conditions: readonly ConditionInput[]
  readonly clusterDeploymentRef: NamespacedName | null
  readonly clusterPoolRef: NamespacedName | null
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
  const conditions = withConditions(status?.conditions, claims, context.clock.now())
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
