import { expect, test } from 'vitest'
import { aCustomization, aPool } from '#test/worlds/clusterpool/builders.ts'
import { planPass } from '#test/worlds/clusterpool/scenario.ts'
import { deploymentManifest, installConfigManifest, namespaceManifest } from './manifests.ts'

const creation = (given: Parameters<typeof planPass>[0]) => {
  const [create] = planPass(given).actions.filter((action) => action.action === 'CreateCluster')
  if (create === undefined) throw new Error('no cluster is made')
  return create
}

test('namespace, Secret and ClusterDeployment carry the pool’s marks, and the cluster its labels and annotations', () => {
  const pool = aPool({ inventory: ['a'], labels: { team: 'blue' }, annotations: { note: 'mine' } })
  const create = creation({ pool, customizations: [aCustomization('a')] })
  const labels = {
    'hive.openshift.io/clusterpool-uid': 'uid-pool',
    'hive.openshift.io/clusterpool-namespace': 'pools',
    'hive.openshift.io/clusterpool-name': 'pool',
  }
  // POOL-87
  expect(namespaceManifest(pool, create, 'baseline').metadata).toEqual({
    name: 'pool-1',
    labels: { ...labels, 'pod-security.kubernetes.io/enforce': 'baseline' },
  })
  const secret = installConfigManifest(pool, create)
  expect(secret.metadata).toEqual({ name: 'pool-1-install-config', namespace: 'pool-1', labels })
  expect(secret.stringData['install-config.yaml']).toMatch(/^metadata:\n {2}name: a$/m)
  const deployment = deploymentManifest(pool, create)
  expect(deployment.metadata).toEqual({
    name: 'pool-1',
    namespace: 'pool-1',
    labels: { team: 'blue', ...labels },
    annotations: {
      note: 'mine',
      'hive.openshift.io/cluster-pool-spec-hash': create.poolVersion,
      'hive.openshift.io/customization-version': '1.uid-a',
    },
    finalizers: ['hive.openshift.io/customization-lease'],
  })
  expect(deployment.spec.provisioning?.installConfigSecretRef).toEqual({ name: secret.metadata.name })
})

test('a pool cannot label its clusters as those of another pool', () => {
  const pool = aPool({ labels: { 'hive.openshift.io/clusterpool-uid': 'other' } })
  expect(deploymentManifest(pool, creation({ pool })).metadata.labels).toMatchObject({
    'hive.openshift.io/clusterpool-uid': 'uid-pool',
  })
})

test('a cluster without lease has nothing to release', () => {
  const pool = aPool()
  expect(deploymentManifest(pool, creation({ pool })).metadata).not.toHaveProperty('finalizers')
})
