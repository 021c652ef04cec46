import { expect, test } from 'vitest'
import { withManagers, withVolumes } from './managers.ts'

const OVERLAY = 'kind: Kustomization\nresources:\n  - ../../base\npatches:\n  - path: no-claim.yaml\n'

test('an overlay gets the Deployments of its managers once, and keeps the rest', () => {
  expect(withManagers(OVERLAY, ['pools', 'clusters', 'devices'])).toEqual({
    'kustomization.yaml':
      'kind: Kustomization\nresources:\n  - ../../base\n  - ../../pools\n  - ../../clusterdevices\npatches:\n  - path: no-claim.yaml\n',
  })
})

test('machines choose their labels', () => {
  expect(withManagers(OVERLAY, ['fleet'])['kustomization.yaml']).toContain('value: --device-labels=*')
})

test('Sentinels get one Deployment for every shard', () => {
  const files = withManagers(OVERLAY, ['sentinels'])
  expect(files['kustomization.yaml']).toContain('  - sentinels\n')
  expect(files['sentinels/kustomization.yaml']).toContain('path: /spec/template/spec/containers/0/args/0')
})

test('an overlay that keeps its data in memory gets volumes, and the API a database', () => {
  const overlay = `${OVERLAY}  - path: api-for-developers.yaml\n  - path: nats-on-memory.yaml\ncomponents:\n  - ../../components/argocd\n`
  expect(withVolumes(overlay)).toMatchInlineSnapshot(`
    "kind: Kustomization
    resources:
      - ../../base
    patches:
      - path: api-for-developers.yaml
    components:
      - ../../components/postgres
      - ../../components/argocd
    "
  `)
})
