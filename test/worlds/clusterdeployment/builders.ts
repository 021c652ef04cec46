/** ClusterDeployments for tests: each call says only what matters to the test. */
import type { ClusterDeployment, ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'

/** In a namespace of its own name, and installed. */
export const aClusterDeployment = (
  { name = 'one', ...metadata }: Partial<ClusterDeployment['metadata']> = {},
  spec: Partial<ClusterDeploymentSpec> = {},
): ClusterDeployment => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeployment',
  metadata: { name, namespace: name, uid: `uid-of-${name}`, resourceVersion: '1', ...metadata },
  spec: {
    baseDomain: 'example.com',
    clusterName: name,
    platform: { none: {} },
    installed: true,
    powerState: 'Running',
    ...spec,
  },
})
