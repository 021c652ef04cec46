/** The writes of a lease. Seed: clusterpool-inventory, Maintaining the lease; what they mean: lease.ts. */

import { readability } from '#apis/hive.openshift.io/model/customization-conditions.ts'
import {
  ClusterDeploymentCustomization,
  type ClusterDeploymentCustomizationStatus,
} from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { type ConditionInput, withConditions } from '#operator/model/conditions.ts'
import type { ObjectMeta } from '#operator/model/resource.ts'
import { Overtaken, patchSeen, type Work } from '../execute/context.ts'
import { isSame, type Leasable, type NamespacedName, type Read } from '../model/observed.ts'

/** The finalizer, then the lease; both need that nobody wrote in between. @throws ApiError, NetworkError */
export const writeLease = async (work: Work, leasable: Leasable, cluster: NamespacedName): Promise<void> => {
  const { name, namespace } = work.pool.metadata
  const protectedVersion = await protect(work, leasable)
  await writeStatus(work, leasable, protectedVersion, (generation) => ({
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
    lastAppliedConfiguration: appliedOf(leasable),
  }))
}

/** What writing a lease needs: a pass has it, and who releases the lease of a pool that is gone. */
export interface Leasing extends Pick<Work, 'api' | 'clock' | 'recent'> {
  readonly pool: { readonly metadata: Pick<ObjectMeta, 'namespace'> }
  readonly read: Pick<Read, 'customizations'>
}

/** That nobody holds it, then its finalizer goes. @throws ApiError, NetworkError */
export const releaseLease = async (work: Leasing, leasable: LeasableSeen): Promise<void> => {
  const released = await writeStatus(work, leasable, leasable.resourceVersion, (generation) => ({
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
  await patchSeen(work, ClusterDeploymentCustomization, placed(work, leasable, resourceVersion), {
    metadata: { finalizers: rest },
  })
}

/** Looks again whether the lease is held: between taking it and making the cluster somebody may have judged it abandoned. */
export const mustHoldLease = async (
  { api, pool }: Work,
  { name }: Leasable,
  cluster: NamespacedName,
): Promise<void> => {
  const found = await api.get(ClusterDeploymentCustomization, name, pool.metadata.namespace)
  const held = found?.status?.clusterDeploymentRef
  if (held === undefined || !isSame(held, cluster))
    throw new Overtaken(`the lease of ${name} for cluster ${cluster.name} is not held any more`)
}

/** As the CRD has it. */
const LONGEST_APPLIED = 262_144

/** Null, which leaves it out, when there is no room for all of it: half of it would be no JSON, and no lease must fail for it. */
const appliedOf = ({ patches: { installConfigPatches, clusterDeploymentSpecPatches } }: Leasable): string | null => {
  const text = JSON.stringify({
    ...(installConfigPatches !== undefined && { installConfigPatches }),
    ...(clusterDeploymentSpecPatches !== undefined && { clusterDeploymentSpecPatches }),
  })
  return text.length <= LONGEST_APPLIED ? text : null
}

/** No finalizer can be added to what is being deleted. @returns the resourceVersion after it */
const protect = async (work: Work, leasable: Leasable): Promise<string> => {
  if (leasable.protected || leasable.deleting) return leasable.resourceVersion
  const { finalizers = [] } = seenAs(work, leasable).metadata
  const { metadata } = await patchSeen(work, ClusterDeploymentCustomization, placed(work, leasable), {
    metadata: { finalizers: [...finalizers, LEASE_FINALIZER] },
  })
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
type LeasableSeen = Pick<Leasable, 'name' | 'resourceVersion'>

const writeStatus = async (
  work: Leasing,
  leasable: LeasableSeen,
  resourceVersion: string,
  change: (generation: Pick<ConditionInput, 'observedGeneration'>) => StatusChange,
): Promise<ClusterDeploymentCustomization> => {
  const seen = seenAs(work, leasable)
  const { status, metadata } = seen
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  const changed = change(generation)
  const claims = [...readability(seen), ...changed.conditions]
  const conditions = withConditions(status?.conditions, claims, work.clock.now())
  return patchSeen(
    work,
    ClusterDeploymentCustomization,
    placed(work, leasable, resourceVersion),
    { status: { ...changed, ...generation, conditions } },
    'status',
  )
}

const placed = ({ pool }: Leasing, { name, resourceVersion }: LeasableSeen, written = resourceVersion) => ({
  name,
  namespace: pool.metadata.namespace ?? '',
  resourceVersion: written,
})

const seenAs = ({ read }: Leasing, { name }: LeasableSeen): ClusterDeploymentCustomization => {
  const found = read.customizations.find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Overtaken(`customization ${name} is not there any more`)
  return found
}
