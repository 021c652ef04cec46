import { expect, test } from 'vitest'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { buildDeploymentStatus } from './deployment-status.ts'

// FLEET-51
test('fields of a status that a later release has written stay, and those of this one go when nothing is to be said', () => {
  const object = {
    apiVersion: 'fleet.nationtech.io/v1alpha1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', generation: 2 },
    spec: {},
    status: { observedGeneration: 1, batch: '1/2', revision: 1, fromLater: { cost: 3 } },
  } as unknown as Deployment
  const nothing = { aggregate: undefined, conflictCounts: undefined, revision: undefined, rollout: undefined }
  const status = buildDeploymentStatus({ object, ...nothing, isLate: false, fault: undefined, now: new Date(0) })
  expect(status).toEqual({ observedGeneration: 2, fromLater: { cost: 3 }, conditions: expect.any(Array) })
})
