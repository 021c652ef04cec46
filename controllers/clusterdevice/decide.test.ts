import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { deviceName, labelsOf, needsAgent, OPT_IN_LABEL } from './decide.ts'

const cluster = (
  metadata: Partial<ClusterDeployment['metadata']> = {},
  status: ClusterDeployment['status'] = { powerState: 'Running', conditions: [condition('True')] },
): ClusterDeployment =>
  ({
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeployment',
    metadata: { name: 'edge-x', namespace: 'edge-x', labels: { [OPT_IN_LABEL]: 'true' }, ...metadata },
    spec: { clusterName: 'dallas', baseDomain: 'example.com', clusterPoolRef: { namespace: 'n', poolName: 'edge' } },
    status,
  }) as ClusterDeployment

const condition = (status: 'True' | 'False') => ({
  type: 'Ready',
  status,
  reason: 'Because',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})

// AGENT-20
test('a cluster is served while it is asked for, Ready, running, and stays', () => {
  expect(needsAgent(cluster())).toBe(true)
  expect(needsAgent(cluster({ labels: {} }))).toBe(false)
  expect(needsAgent(cluster({ deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe(false)
  expect(needsAgent(cluster({}, { powerState: 'Running', conditions: [condition('False')] }))).toBe(false)
  expect(needsAgent(cluster({}, { powerState: 'Hibernating', conditions: [condition('True')] }))).toBe(false)
  expect(needsAgent(cluster({}, {}))).toBe(false)
})

// AGENT-24
test('a cluster of a pool gives its device its name; others get a digest that tells namespaces apart', () => {
  expect(deviceName(cluster())).toBe('edge-x')
  const names = [
    deviceName(cluster({ namespace: 'a', name: 'b.c' })),
    deviceName(cluster({ namespace: 'a-b', name: 'c' })),
    deviceName(cluster({ namespace: 'a', name: 'b-c' })),
    deviceName(cluster({ namespace: 'a', name: 'n'.repeat(253) })),
  ]
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
})

// AGENT-24
test('only labels that are allowed are copied, by key or by prefix', () => {
  const labels = { region: 'us', tier: 'edge', 'device.fleet.nationtech.io/ring': 'canary', 'x.device.io/a': 'b' }
  expect(labelsOf(cluster({ labels }), ['device.fleet.nationtech.io/', 'region'])).toEqual({
    region: 'us',
    'device.fleet.nationtech.io/ring': 'canary',
    'fleet.nationtech.io/cluster-namespace': 'edge-x',
    'fleet.nationtech.io/cluster-pool': 'edge',
  })
})
