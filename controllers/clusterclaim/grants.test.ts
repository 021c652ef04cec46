import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { clusterSecrets } from './grants.ts'

const cluster = (clusterMetadata?: object): ClusterDeployment => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeployment',
  metadata: { name: 'one', namespace: 'one', uid: 'uid-one', resourceVersion: '1' },
  spec: {
    baseDomain: 'example.com',
    clusterName: 'one',
    platform: { none: {} },
    installed: true,
    powerState: 'Running',
    ...(clusterMetadata && { clusterMetadata }),
  },
})

test('CLAIM-6: a cluster that names no Secrets grants none, and one that is named half grants what it names', () => {
  expect(clusterSecrets(cluster())).toEqual([])
  const metadata = { adminKubeconfigSecretRef: { name: 'kubeconfig' }, adminPasswordSecretRef: null }
  expect(clusterSecrets(cluster(metadata))).toEqual(['kubeconfig'])
})
