import { expect, test } from 'vitest'
import { CustomizationError } from '#apis/hive.openshift.io/model/customization.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { renderCluster } from './render.ts'

const POOL = {
  size: 1,
  baseDomain: 'example.com',
  platform: { vsphere: { credentialsSecretRef: { name: 'vsphere' } } },
  imageSetRef: { name: 'v4' },
  pullSecretRef: { name: 'pull' },
} as unknown as ClusterPoolSpec

const render = (...patches: readonly object[]) =>
  renderCluster({
    pool: { namespace: 'pools', name: 'small' },
    poolSpec: POOL,
    template: undefined,
    name: 'small-x7k2p',
    shared: undefined,
    leased: { name: 'leased', clusterDeploymentSpecPatches: patches as never },
  }).spec

const naming = (name: string) => ({
  op: 'add',
  path: '/clusterMetadata',
  value: { adminKubeconfigSecretRef: { name } },
})

test.each(['pull', 'vsphere', 'small-x7k2p-install-config'])(
  'POOL-63: a customization that names %s for the users of the cluster is refused',
  (name) => {
    expect(() => render(naming(name))).toThrow(CustomizationError)
    expect(() => render(naming(name))).toThrow(
      `leased: clusterDeploymentSpecPatches: clusterMetadata names Secret ${name}, which the pool puts beside the cluster: name one that is made for the users of the cluster`,
    )
  },
)

test('POOL-63: also when it takes the reference out of the spec that says so', () => {
  expect(() => render({ op: 'remove', path: '/platform/vsphere/credentialsSecretRef' }, naming('vsphere'))).toThrow(
    'clusterMetadata names Secret vsphere',
  )
})

test('POOL-63: it may name one that is made for the users of the cluster', () => {
  expect(render(naming('admin'))).toMatchObject({ clusterMetadata: { adminKubeconfigSecretRef: { name: 'admin' } } })
})
