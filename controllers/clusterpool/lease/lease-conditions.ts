/** What the conditions of a customization say about its lease, and since when. Pure. */
import type { ClusterDeploymentCustomizationStatus } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { Condition, ConditionInput } from '#operator/model/conditions.ts'
import { isSame, type NamespacedName } from '../model/names.ts'

/** A cluster of the pool has it. */
export const holderConditions = (
  pool: string,
  cluster: NamespacedName,
  generation: Pick<ConditionInput, 'observedGeneration'>,
): readonly ConditionInput[] => [
  {
    type: 'Available',
    status: 'False',
    reason: 'ClusterDeploymentCustomizationInUse',
    message: `Currently in use by cluster deployment ${cluster.name} of clusterpool ${pool}`,
    ...generation,
  },
  {
    type: 'Applied',
    status: 'True',
    reason: 'Applied',
    message: `Applied to the install-config of cluster ${cluster.name}; what became of that one, its pool says`,
    ...generation,
  },
]

/**
 * The conditions to go on from when a cluster gets the customization. The time of Available=False is when the lease was taken (POOL-57):
 * a lease that takes another one's place must not have that one's age, or it is over before its cluster can be made.
 */
export const conditionsFor = (
  status: ClusterDeploymentCustomizationStatus | undefined,
  holder: NamespacedName | null,
): readonly Condition[] | undefined => {
  const before = status?.clusterDeploymentRef
  const isNew = holder !== null && (before === undefined || !isSame(before, holder))
  return isNew
    ? status?.conditions?.filter(({ type }) => type !== 'Available' && type !== 'Preflight')
    : status?.conditions
}
