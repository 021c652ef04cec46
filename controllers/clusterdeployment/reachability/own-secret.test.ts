/** CLUSTER-18: which Secret is a cluster's admin kubeconfig. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterDeploymentSpec } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import type { Secret } from '#apis/kubernetes.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { findForeignSecret } from './own-secret.ts'

const NAME = 'one-admin-kubeconfig'

const secret = (labels: Readonly<Record<string, string>> = {}): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: NAME, namespace: 'one', uid: 'uid-of-secret', resourceVersion: '1', labels },
  spec: undefined,
})

const cluster = (spec: Partial<ClusterDeploymentSpec> = {}) => ({
  ...aClusterDeployment({}, spec),
  status: { hyperfleet: { id: 'cluster-1', href: '' } },
})

test('what an adapter or a job of its made for this cluster is', () => {
  expect(findForeignSecret(cluster(), secret())).toBeUndefined()
  expect(findForeignSecret(cluster(), secret({ [RESOURCE_LABEL]: 'cluster-1' }))).toBeUndefined()
})

test('what was made for an earlier cluster of the name is not', () => {
  expect(findForeignSecret(cluster(), secret({ [RESOURCE_LABEL]: 'cluster-0' }))).toContain('cluster cluster-0')
})

test('attack: whatever the author of a pool or a customization names so, what the pool put there is not', () => {
  expect(findForeignSecret(cluster(), secret({ [POOL_LABELS.uid]: 'uid-of-pool' }))).toContain('by the pool')
})

test('attack: what the cluster is made with is not, wherever in its spec it is named', () => {
  const path = fc.array(fc.constantFrom('platform', 'provisioning', 'aws', 'controlPlaneConfig', 'bundles'), {
    minLength: 1,
    maxLength: 4,
  })
  const key = fc.constantFrom(
    'pullSecretRef',
    'installConfigSecretRef',
    'credentialsSecretRef',
    'sshPrivateKeySecretRef',
  )
  fc.assert(
    fc.property(path, key, fc.boolean(), (within, reference, isListed) => {
      let part: unknown = { [reference]: { name: NAME } }
      if (isListed) part = [part]
      for (const step of within) part = { [step]: part }
      expect(findForeignSecret(cluster(part as Partial<ClusterDeploymentSpec>), secret())).toContain('made with')
    }),
  )
})
