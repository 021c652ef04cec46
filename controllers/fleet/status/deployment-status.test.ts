import { describe, expect, test } from 'vitest'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { buildDeploymentStatus, buildOutdatedStatus, type DeploymentStatusInput } from './deployment-status.ts'

// FLEET-51
test('fields of a status that a later release has written stay, and those of this one go when nothing is to be said', () => {
  const object = {
    apiVersion: 'fleet.nationtech.io/v1alpha1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', generation: 2 },
    spec: {},
    status: { observedGeneration: 1, batch: '1/2', revision: 1, fromLater: { cost: 3 } },
  } as unknown as Deployment
  const nothing = {
    aggregate: undefined,
    conflictCounts: undefined,
    undecided: undefined,
    revision: undefined,
    rollout: undefined,
  }
  const status = buildDeploymentStatus({
    object,
    ...nothing,
    isLate: false,
    fault: undefined,
    unstored: undefined,
    laterEntries: 0,
    refusedEntries: 0,
    now: new Date(0),
  })
  expect(status).toEqual({ observedGeneration: 2, fromLater: { cost: 3 }, conditions: expect.any(Array) })
})

const web = (status?: object): Deployment =>
  ({
    apiVersion: 'fleet.nationtech.io/v1alpha1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', generation: 2 },
    spec: {},
    status,
  }) as unknown as Deployment

const NO_ONE = { matched: 4, succeeded: 4, failed: 0, pending: 0, offline: 0, unreported: 0, held: 0 }

const statusOf = (
  aggregate: object | undefined,
  rollout: object | undefined,
  more: Partial<DeploymentStatusInput> = {},
) =>
  buildDeploymentStatus({
    object: web(),
    aggregate: aggregate && { ...NO_ONE, ...aggregate },
    conflictCounts: undefined,
    revision: 7,
    rollout: rollout && { batch: 1, batches: [{}], ...rollout },
    isLate: false,
    fault: undefined,
    now: new Date(0),
    ...more,
  } as unknown as DeploymentStatusInput)

/** The condition that says how it is, with its reason and message. */
const told = (...args: Parameters<typeof statusOf>) => {
  const { conditions = [] } = statusOf(...args)
  const { reason, message } = conditions.find(({ type }) => type === 'Ready') ?? {}
  const stands = conditions.filter(({ status }) => status === 'True').map(({ type }) => type)
  return `${stands.join(' ')}: ${reason}: ${message}`
}

describe('what is counted', () => {
  test('stands in the status with the revision and the rollout', () => {
    const { ready, revision, batch, rollout } = statusOf({ succeeded: 3 }, { phase: 'Inactive' })
    expect({ ready, revision, batch, rollout: rollout?.phase }).toEqual({
      ready: '3/4',
      revision: 7,
      batch: undefined,
      rollout: 'Inactive',
    })
  })

  test('has a batch when there are several', () => {
    expect(statusOf({}, { phase: 'Active', batch: 2, batches: [{}, {}] }).batch).toBe('2/2')
  })
})

describe('how it is', () => {
  const inactive = { phase: 'Inactive' }
  test.each<[string, Parameters<typeof statusOf>]>([
    ['Reconciling: Beginning: its revision is being stored', [undefined, inactive]],
    ['Reconciling: Beginning: its revision is being stored', [{}, undefined]],
    ['Stalled: Wrong: it is wrong', [{}, inactive, { fault: { reason: 'Wrong', message: 'it is wrong' } as never }]],
    // FLEET-39
    [
      'Stalled: RolloutSuspended: why: correct the spec, or go on in spite of it by another value of the annotation fleet.nationtech.io/resume',
      [{}, { phase: 'Suspended', message: 'why' }],
    ],
    [
      'Stalled: RolloutSuspended: why: correct the spec, go on in spite of it by another value of the annotation fleet.nationtech.io/resume, or take it back by fleet.nationtech.io/abort-revision=7',
      [{}, { phase: 'Suspended', message: 'why', revision: 7, from: 6 }],
    ],
    ['Reconciling: RolloutPaused: why', [{}, { phase: 'Paused', message: 'why' }]],
    ['Reconciling: WaitingForApproval: why', [{}, { phase: 'Waiting', message: 'why' }]],
    ['Reconciling: RollingOut: why', [{}, { phase: 'Active', message: 'why' }]],
    ['Reconciling: RollingOut: 4 of 4 run it', [{}, { phase: 'Active' }]],
    [
      'Stalled: ProgressDeadlineExceeded: 3 of 4 run it, 1 pending; it goes on',
      [{ succeeded: 3, pending: 1 }, { phase: 'Active' }, { isLate: true }],
    ],
    ['Ready: NoDevices: the selector matches no device', [{ matched: 0 }, inactive]],
    ['Reconciling: DevicesFailed: exit 1', [{ failed: 1, lastError: 'exit 1' }, inactive]],
    ['Reconciling: DevicesFailed: 3 of 4 run it, 1 failed', [{ succeeded: 3, failed: 1 }, inactive]],
    ['Ready: Deployed: 4 of 4 run it', [{}, inactive]],
    ['Ready: Deployed: 3 of 4 run it, 1 offline', [{ succeeded: 3, offline: 1 }, inactive]],
    ['Reconciling: DevicesPending: 3 of 4 run it, 1 pending', [{ succeeded: 3, pending: 1 }, inactive]],
    ['Reconciling: DevicesPending: 3 of 4 run it, 1 unreported', [{ succeeded: 3, unreported: 1 }, inactive]],
    ['Reconciling: DevicesPending: 3 of 4 run it, 1 held', [{ succeeded: 3, held: 1 }, inactive]],
    [
      'Reconciling: DevicesPending: 1 of 4 run it, 1 pending, 1 unreported, 1 held',
      [{ succeeded: 1, pending: 1, unreported: 1, held: 1 }, inactive],
    ],
  ])('%s', (expected, args) => {
    expect(told(...args)).toBe(expected)
  })
})

test('while NATS is away, what was known stays, of this generation', () => {
  const before = { observedGeneration: 1, ready: '1/2', revision: 3 }
  const status = buildOutdatedStatus(web(before), { since: new Date(0), problem: 'refused' }, new Date(1000))
  expect(status).toMatchObject({ observedGeneration: 2, ready: '1/2', revision: 3 })
  expect(status.conditions?.find(({ type }) => type === 'Reconciling')).toMatchObject({
    status: 'True',
    reason: 'NatsUnavailable',
    message: expect.stringContaining('NATS is away since 1970-01-01T00:00:00.000Z'),
  })
})

// FLEET-70
test('while the revision of a workload is not stored the Deployment is not Ready, though the one before is deployed', () => {
  const unstored = "its revision can't be stored, it is tried again: exceeded quota"
  expect(told({}, { phase: 'Inactive' })).toContain('Deployed')
  expect(told({}, { phase: 'Inactive' }, { unstored })).toBe(`Reconciling: RevisionNotStored: ${unstored}`)
})
