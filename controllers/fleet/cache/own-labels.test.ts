import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { chooseLabels, type ToldLabels } from './own-labels.ts'

const told = (labels: Readonly<Record<string, string>>, more: Partial<ToldLabels> = {}): ToldLabels => ({
  name: 'pump-17',
  info: { labels, inventory: {}, agentVersion: '1' },
  cluster: undefined,
  allowed: [],
  written: {},
  ...more,
})

const cluster = (labels: Readonly<Record<string, string>>) =>
  ({ metadata: { name: 'edge-x', namespace: 'edge-x', labels }, spec: {} }) as unknown as ClusterDeployment

const ofCluster = (name: string, labels: Readonly<Record<string, string>>, has: Readonly<Record<string, string>>) =>
  told(labels, {
    name,
    info: { labels, inventory: { clusterDeployment: 'edge-x/edge-x' }, agentVersion: '1' },
    cluster: cluster(has),
  })

// FLEET-93
test('of what a machine tells, only labels that it may choose are taken', () => {
  expect(chooseLabels(told({ site: 'north', ring: 'canary' }, { allowed: ['site'] }))).toEqual({
    labels: { site: 'north' },
    ignored: { ring: 'canary' },
  })
})

// FLEET-93
test('whatever a device tells, it gets no label that it may not choose and did not have', () => {
  const keys = fc.constantFrom('site', 'ring', 'self/a', 'self/b', 'fleet.nationtech.io/cluster-namespace')
  const labels = fc.dictionary(keys, fc.constantFrom('x', 'y'))
  fc.assert(
    fc.property(labels, labels, fc.subarray(['site', 'self/']), (tells, written, allowed) => {
      const { labels: chosen, ignored } = chooseLabels(told(tells, { allowed, written }))
      const mayChoose = (key: string) => allowed.some((one) => key === one || (one === 'self/' && key.startsWith(one)))
      for (const [key, value] of Object.entries(chosen)) expect(mayChoose(key) ? tells[key] : written[key]).toBe(value)
      for (const [key, value] of Object.entries(tells))
        expect(chosen[key] === value ? undefined : value).toBe(ignored[key])
    }),
  )
})

// FLEET-93
test('what a cluster tells counts with the value of its ClusterDeployment, and not under another name', () => {
  const labels = { ring: 'canary', site: 'north', 'fleet.nationtech.io/cluster-namespace': 'edge-x' }
  expect(chooseLabels(ofCluster('edge-x', labels, { ring: 'rest' }))).toEqual({
    labels: { ring: 'rest', 'fleet.nationtech.io/cluster-namespace': 'edge-x' },
    ignored: { ring: 'canary', site: 'north' },
  })
  expect(chooseLabels(ofCluster('pump-17', labels, labels))).toEqual({ labels: {}, ignored: labels })
})
