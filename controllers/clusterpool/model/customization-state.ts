import type { Customization } from '#apis/hive.openshift.io/model/customization.ts'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { findCondition, isTrue } from '#operator/model/conditions.ts'
import { isRestoring, millisecondsOf } from './metadata.ts'
import type { NamespacedName } from './names.ts'

/** A ClusterDeploymentCustomization of the pool's namespace, as something to lease. */
export interface CustomizationState {
  readonly name: string
  /** Changes whenever its spec does, and when it is made anew under the same name. */
  readonly version: string
  /** For the conditional write that takes or releases the lease. */
  readonly resourceVersion: string
  readonly deleting: boolean
  /** It comes from a backup: the cluster that leases it may come later. */
  readonly restoring: boolean
  /** It has the finalizer of a lease. */
  readonly protected: boolean
  /** The condition Available; undefined before one was written. */
  readonly available: boolean | undefined
  /** Since when that condition is what it is. */
  readonly since: number | undefined
  readonly cluster: NamespacedName | undefined
  readonly pool: NamespacedName | undefined
  readonly patches: Customization
  /** The patches that were last applied, as `formatAppliedPatches` has them. */
  readonly applied: string | undefined
  /** Why it is out of service, and whether its unclaimed cluster goes; undefined when it is in service. */
  readonly cordoned: ClusterDeploymentCustomization['spec']['cordoned']
}

export const customizationStateOf = ({
  metadata,
  spec,
  status,
}: ClusterDeploymentCustomization): CustomizationState => {
  const available = findCondition(status?.conditions, 'Available')
  const { installConfigPatches, clusterDeploymentSpecPatches } = spec
  const patches: Customization = {
    name: metadata.name,
    ...(installConfigPatches !== undefined && { installConfigPatches }),
    ...(clusterDeploymentSpecPatches !== undefined && { clusterDeploymentSpecPatches }),
  }
  return {
    name: metadata.name,
    version: `${metadata.generation ?? 0}.${metadata.uid}`,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    restoring: isRestoring(metadata),
    protected: metadata.finalizers?.includes(LEASE_FINALIZER) ?? false,
    available: available === undefined ? undefined : isTrue(status?.conditions, 'Available'),
    since: available === undefined ? undefined : millisecondsOf(available.lastTransitionTime),
    cluster: status?.clusterDeploymentRef,
    pool: status?.clusterPoolRef,
    patches,
    applied: status?.lastAppliedConfiguration,
    cordoned: spec.cordoned,
  }
}
