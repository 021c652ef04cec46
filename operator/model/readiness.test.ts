import { expect, test } from 'vitest'
import { readinessOf } from './readiness.ts'

const condition = (type: string, status: string) => ({ conditions: [{ type, status }] })

test.for<[string, object, string]>([
  ['a ConfigMap', { kind: 'ConfigMap' }, 'True Available'],
  ['what is being deleted', { kind: 'ConfigMap', metadata: { deletionTimestamp: 'now' } }, 'Unknown Terminating'],
  ['a new Job', { kind: 'Job' }, 'Unknown JobRunning'],
  ['a complete Job', { kind: 'Job', status: condition('Complete', 'True') }, 'True JobComplete'],
  ['a failed Job', { kind: 'Job', status: condition('Failed', 'True') }, 'False JobFailed'],
  ['an active Namespace', { kind: 'Namespace', status: { phase: 'Active' } }, 'True Available'],
  ['a new Deployment', { kind: 'Deployment' }, 'Unknown NotObserved'],
  ['an available Deployment', { kind: 'Deployment', status: condition('Available', 'True') }, 'True Available'],
  ['a Deployment that is not', { kind: 'Deployment', status: condition('Available', 'False') }, 'False NotAvailable'],
  ['a new Namespace', { kind: 'Namespace' }, 'Unknown NotActive'],
  ['a new DaemonSet', { kind: 'DaemonSet', status: {} }, 'Unknown NotObserved'],
  [
    'a DaemonSet on its way',
    { kind: 'DaemonSet', status: { desiredNumberScheduled: 2, numberReady: 1 } },
    'Unknown Progressing',
  ],
  ['a DaemonSet for no node', { kind: 'DaemonSet', status: { desiredNumberScheduled: 0 } }, 'True Available'],
  [
    'a StatefulSet on its way',
    { kind: 'StatefulSet', spec: { replicas: 2 }, status: { readyReplicas: 1 } },
    'Unknown Progressing',
  ],
  [
    'a StatefulSet whose last pod is still to end',
    { kind: 'StatefulSet', spec: { replicas: 0 }, status: { replicas: 1, readyReplicas: 1 } },
    'Unknown Progressing',
  ],
  [
    'a StatefulSet whose pods are still those of before',
    {
      kind: 'StatefulSet',
      spec: { replicas: 1 },
      status: { replicas: 1, readyReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
    },
    'Unknown Progressing',
  ],
  [
    'a StatefulSet of no pods whose last ones were of another revision',
    { kind: 'StatefulSet', spec: { replicas: 0 }, status: { replicas: 0, currentRevision: 'a', updateRevision: 'b' } },
    'True Available',
  ],
  [
    'a resource whose controller is behind',
    { kind: 'Thing', metadata: { generation: 2 }, status: { observedGeneration: 1, ...condition('Ready', 'True') } },
    'Unknown NotObserved',
  ],
  [
    'a resource that says it is not ready',
    { kind: 'Thing', status: condition('Ready', 'False') },
    'False NotAvailable',
  ],
])('%s', ([, object, said]) => {
  const { available, reason } = readinessOf(object)
  expect(`${available} ${reason}`).toBe(said)
})
