import { describe, expect, test } from 'vitest'
import { awaitedPods, isPolled, refusedPod, unscheduledPod } from './awaited-pods.ts'

const NOW = new Date('2026-01-31T12:00:00Z')
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000).toISOString()
const workload = (kind: string, spec: object, status: object, more: object = {}) => ({
  kind,
  metadata: { name: 'one', creationTimestamp: ago(60), ...more },
  spec: { ...spec },
  status: { ...status },
})
const complete = { conditions: [{ type: 'Complete', status: 'True' }] }

describe('CLUSTER-94: which pods a workload waits for', () => {
  test.for([
    ['a Job without a pod', workload('Job', {}, {}), 'creation'],
    ['a Job whose pod is not ready', workload('Job', {}, { active: 1, ready: 0 }), 'start'],
    ['a Job at work', workload('Job', {}, { active: 1, ready: 1 }), undefined],
    ['a Job that is complete', workload('Job', {}, complete), undefined],
    ['a Job that is suspended', workload('Job', { suspend: true }, {}), undefined],
    ['a new Job', workload('Job', {}, {}, { creationTimestamp: ago(9) }), undefined],
    ['a Job that is deleted', workload('Job', {}, {}, { deletionTimestamp: ago(1) }), undefined],
    ['a StatefulSet without a pod', workload('StatefulSet', { replicas: 1 }, { replicas: 0 }), 'creation'],
    ['one whose pod is not ready', workload('StatefulSet', { replicas: 1 }, { replicas: 1 }), 'start'],
    ['one that is ready', workload('StatefulSet', { replicas: 1 }, { replicas: 1, readyReplicas: 1 }), undefined],
    ['one that sleeps', workload('StatefulSet', { replicas: 0 }, {}), undefined],
    ['another kind', workload('ConfigMap', {}, {}), undefined],
    ['an object of a dry run', { kind: 'Job', metadata: { name: 'one' } }, undefined],
  ] as const)('%s', ([, object, wait]) => expect(awaitedPods(object, NOW)).toBe(wait))

  test('CLUSTER-95: a Job whose pod starts is watched; what else waits is looked at again', () => {
    expect(isPolled(workload('Job', {}, { active: 1 }), NOW)).toBe(false)
    expect(isPolled(workload('Job', {}, {}), NOW)).toBe(true)
    expect(isPolled(workload('StatefulSet', {}, { replicas: 1 }), NOW)).toBe(true)
    expect(isPolled(workload('StatefulSet', {}, { replicas: 1, readyReplicas: 1 }), NOW)).toBe(false)
  })
})

describe('CLUSTER-94: why', () => {
  const event = (message: string, seconds: number) => ({ metadata: {}, message, lastTimestamp: ago(seconds) })

  test('the last event counts, and none of a time before', () => {
    const quota = 'pods "one-0" is forbidden: exceeded quota: full, requested: pods=1'
    expect(refusedPod([event('violates PodSecurity', 300), event(quota, 5)], NOW)).toEqual({
      reason: 'QuotaExceeded',
      message: quota,
    })
    expect(refusedPod([event(quota, 300), event('violates PodSecurity', 5)], NOW)?.reason).toBe('ApplyFailed')
    expect(refusedPod([event(quota, 700)], NOW)).toBeUndefined()
    expect(refusedPod([], NOW)).toBeUndefined()
  })

  test('a pod that the scheduler refuses', () => {
    const pod = (status: string) => ({
      metadata: { name: 'one-0' },
      status: { conditions: [{ type: 'PodScheduled', status, message: '0/1 nodes are available' }] },
    })
    expect(unscheduledPod([pod('True'), pod('False')])).toEqual({
      reason: 'Unschedulable',
      message: 'no node takes its pod one-0: 0/1 nodes are available',
    })
    expect(unscheduledPod([pod('True')])).toBeUndefined()
  })
})
