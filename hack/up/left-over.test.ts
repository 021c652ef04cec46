import { expect, test } from 'vitest'
import { leftOverOf } from './left-over.ts'

const object = (
  kind: string,
  name: string,
  more: { readonly namespace?: string; readonly [field: string]: unknown } = {},
) => {
  const { namespace, ...rest } = more
  return { apiVersion: 'v1', kind, metadata: { name, ...(namespace && { namespace }) }, ...rest }
}

test.for([
  ['its namespace', object('Namespace', 'lab-b4d7x'), 'Namespace/lab-b4d7x'],
  [
    'the install-config',
    object('Secret', 'lab-b4d7x-install-config', { namespace: 'lab-b4d7x' }),
    'Secret/lab-b4d7x-install-config in lab-b4d7x',
  ],
  ['a pod beside it', object('Pod', 'web', { namespace: 'lab-b4d7x' }), 'Pod/web in lab-b4d7x'],
  ['its Device', object('Device', 'lab-b4d7x'), 'Device/lab-b4d7x'],
  [
    'what an adapter has of it',
    object('AdapterInventory', 'cluster-local-0f3', {
      namespace: 'hyperfleet-system',
      spec: { objects: [{ namespace: 'lab-b4d7x' }] },
    }),
    'AdapterInventory/cluster-local-0f3 in hyperfleet-system',
  ],
] as const)('%s is left of a cluster of the pool', ([, left, told]) => {
  expect(leftOverOf('lab', [object('Namespace', 'default'), left])).toEqual([told])
})

test('what only tells of a cluster that is gone is none of it, nor are the pool’s own objects and those of other pools', () => {
  const others = [
    object('ClusterDeploymentCustomization', 'lima', { status: { history: [{ cluster: 'lab-b4d7x' }] } }),
    { ...object('Deployment', 'team'), metadata: { name: 'team', managedFields: [{ manager: 'lab-b4d7x' }] } },
    object('ConfigMap', 'lab', { data: { text: 'lab-oratory' } }),
    object('Namespace', 'edge-b4d7x'),
    object('Namespace', 'collab-b4d7x'),
  ]
  expect(leftOverOf('lab', others)).toEqual([])
})
