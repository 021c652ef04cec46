import { deploymentKind } from './fleet.nationtech.io/v1alpha1/deployment.ts'
import { deviceKind } from './fleet.nationtech.io/v1alpha1/device.ts'
import { clusterClaimKind } from './hive.openshift.io/v1/clusterclaim.ts'
import { clusterDeploymentKind } from './hive.openshift.io/v1/clusterdeployment.ts'
import { clusterDeploymentCustomizationKind } from './hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { clusterPoolKind } from './hive.openshift.io/v1/clusterpool.ts'
import { adapterInventoryKind } from './hyperfleet.redhat.com/v1alpha1/inventory/kind.ts'
import { sentinelConfigKind } from './hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { adapterTaskKind } from './hyperfleet.redhat.com/v1alpha1/task/kind.ts'
import type { CustomKind } from './schema/kind.ts'

/** Every kind that Muster adds to Kubernetes, in the order in which they are documented. A new kind is one file and one line here. */
export const customKinds = (): readonly CustomKind[] => [
  sentinelConfigKind(),
  adapterTaskKind(),
  adapterInventoryKind(),
  clusterPoolKind(),
  clusterDeploymentCustomizationKind(),
  clusterClaimKind(),
  clusterDeploymentKind(),
  deploymentKind(),
  deviceKind(),
]
