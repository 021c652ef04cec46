import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import type { ControllerEntry } from '#operator/controller-entry.ts'

/** ClusterDeploymentCustomizations: docs/clusterpools.md. It has the rights of the pools' controller, and runs with it. */
export const clusterDeploymentCustomizationEntry = {
  name: 'clusterdeploymentcustomization',
  partOf: 'clusterpool',
  kinds: [ClusterDeploymentCustomization],
  flags: {},
  load: async () => {
    const { clusterDeploymentCustomization } = await import('./index.ts')
    return clusterDeploymentCustomization()
  },
} as const satisfies ControllerEntry<unknown>
