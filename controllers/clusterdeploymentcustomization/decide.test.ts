import { describe, expect, test } from 'vitest'
import type { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { planWrite } from './decide.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const OTHER = 'example.com/other'

const customization = (
  metadata: Partial<ClusterDeploymentCustomization['metadata']> = {},
  rest: Partial<ClusterDeploymentCustomization> = {},
): ClusterDeploymentCustomization => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeploymentCustomization',
  metadata: {
    name: 'east',
    namespace: 'pools',
    uid: 'u1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 2,
    ...metadata,
  },
  spec: { installConfigPatches: [{ op: 'replace', path: '/platform', value: '{}' }] },
  ...rest,
})

const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [LEASE_FINALIZER, OTHER] }

describe('what is written of a customization', () => {
  test('conditions for its generation, and nothing once they are there', () => {
    const plan = planWrite(customization(), NOW)
    expect(plan).toMatchObject({ write: 'status', status: { observedGeneration: 2 } })
    const { status } = plan as { readonly status: ClusterDeploymentCustomization['status'] }
    expect(planWrite(customization({}, { status }), new Date(NOW.getTime() + 60_000))).toBeUndefined()
  })

  test('POOL-9: the finalizer that is left of a lease goes with the deletion, and others stay', () => {
    expect(planWrite(customization(deleted), NOW)).toEqual({ write: 'finalizers', finalizers: [OTHER] })
  })

  test('POOL-9: one that is leased keeps its finalizer while it is deleted', () => {
    const status = { clusterDeploymentRef: { name: 'one', namespace: 'one' } }
    expect(planWrite(customization(deleted, { status }), NOW)).toMatchObject({ write: 'status' })
  })

  test('POOL-9: one that is not deleted keeps its finalizers: a lease may be under way', () => {
    expect(planWrite(customization({ finalizers: [LEASE_FINALIZER] }), NOW)).toMatchObject({ write: 'status' })
  })
})
