import { describe, expect, test } from 'vitest'
import {
  type Belongings,
  changedClaims,
  doubleClaims,
  doubleLeases,
  doubleRecords,
  lasting,
  leaving,
  orphans,
  overdue,
  untold,
} from './invariants.ts'
import { type ClusterSight, clusterOf, type KubeSight } from './sights.ts'

const cluster = (name: string, more: Partial<ClusterSight> = {}): ClusterSight => ({
  uid: `uid-of-${name}`,
  name: `${name}/${name}`,
  customization: undefined,
  claim: undefined,
  isDeleting: false,
  ...more,
})

const record = (id: string, registeredFor: string) => ({
  id,
  name: id,
  generation: 1,
  isDeleting: false,
  phase: 'Ready',
  registeredFor,
})

describe('a customization is in one cluster', () => {
  test('two clusters with one customization are found, also when one of them is being deleted', () => {
    const clusters = [
      cluster('a', { customization: 'n/dallas' }),
      cluster('b', { customization: 'n/dallas', isDeleting: true }),
    ]
    expect(doubleLeases(clusters)).toEqual(['the customization n/dallas is leased by a/a and b/b'])
  })
  test('clusters with one each, or with none, are fine', () => {
    expect(doubleLeases([cluster('a', { customization: 'n/dallas' }), cluster('b'), cluster('c')])).toEqual([])
  })
})

describe('a claim has one cluster, and a cluster one claim', () => {
  test('two clusters of one claim are found', () => {
    const clusters = [cluster('a', { claim: 'n/mine' }), cluster('b', { claim: 'n/mine' })]
    expect(doubleClaims(clusters)).toEqual(['the claim n/mine has a/a and b/b'])
  })
  test('a cluster that goes makes room for another one', () => {
    expect(
      doubleClaims([cluster('a', { claim: 'n/mine', isDeleting: true }), cluster('b', { claim: 'n/mine' })]),
    ).toEqual([])
  })
  test('a cluster that changes its claim, or loses it, is found', () => {
    const before = new Map([
      ['uid-of-a', cluster('a', { claim: 'n/mine' })],
      ['uid-of-b', cluster('b', { claim: 'n/mine' })],
      ['uid-of-c', cluster('c')],
    ])
    const now = [cluster('a', { claim: 'n/yours' }), cluster('b'), cluster('c', { claim: 'n/mine' })]
    expect(changedClaims(before, now)).toEqual([
      'the cluster a/a of the claim n/mine now has n/yours',
      'the cluster b/b of the claim n/mine now has none',
    ])
  })
})

test('two records of one ClusterDeployment are found', () => {
  expect(doubleRecords([record('1', 'a/a'), record('2', 'a/a'), record('3', 'b/b')])).toEqual([
    'the ClusterDeployment a/a is registered as 1 and 2',
  ])
})

describe('nothing belongs to nothing', () => {
  const all: Belongings = {
    clusters: [cluster('a', { customization: 'n/dallas' })],
    records: [record('1', 'a/a')],
    applied: new Map([['Namespace c-1', '1']]),
    keys: ['fleet-desired a.n.web', 'fleet-state a.n.web'],
    devices: ['a'],
    deployments: ['n/web'],
  }

  test('where everything has its owner there are no orphans', () => {
    expect(orphans(all)).toEqual([])
  })
  test('without the ClusterDeployment its record is an orphan', () => {
    expect(orphans({ ...all, clusters: [] })).toEqual([
      'the cluster 1 of the HyperFleet API: its ClusterDeployment a/a is gone',
    ])
  })
  test('without the record what adapters applied for it is an orphan', () => {
    expect(orphans({ ...all, records: [] })).toEqual(['Namespace c-1, applied by an adapter: its cluster 1 is gone'])
  })
  test('without the device or the Deployment their keys are orphans', () => {
    const both = [
      'the key fleet-desired a.n.web: its device or its Deployment is gone',
      'the key fleet-state a.n.web: its device or its Deployment is gone',
    ]
    expect(orphans({ ...all, devices: [] })).toEqual(both)
    expect(orphans({ ...all, deployments: ['other/web'] })).toEqual(both)
  })
})

test('a generation without an event of it or of a later one is found', () => {
  const changes = [1, 2, 3].map((generation) => ({ resource: '1', generation, at: 0 }))
  expect(untold(changes, [{ resource: '1', generation: 2 }])).toEqual(['generation 3 of the cluster 1'])
  expect(untold(changes, [{ resource: '2', generation: 3 }])).toHaveLength(3)
  expect(untold(changes, [{ resource: '1', generation: 3 }])).toEqual([])
})

const object = (name: string, deletionTimestamp?: string): KubeSight => ({
  kind: 'ClusterPool',
  metadata: {
    name,
    namespace: 'n',
    uid: name,
    resourceVersion: '1',
    finalizers: ['hive.openshift.io/clusters'],
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  },
})

test('an object that is asked to go is named with what keeps it', () => {
  expect(leaving([object('a'), object('b', '2026-01-01T00:00:00Z')])).toEqual([
    'ClusterPool n/b, kept by hive.openshift.io/clusters',
  ])
})

test('what goes on without a break is overdue after the bound; what began again is not', () => {
  const first = lasting(new Map(), ['a', 'b'], 1_000)
  const second = lasting(first, ['a'], 2_000)
  const third = lasting(second, ['a', 'b'], 3_000)
  expect(overdue(third, 3_001, 2_000)).toEqual(['a'])
  expect(overdue(third, 3_000, 2_000)).toEqual([])
})

test('a ClusterDeployment is read with what it leases and who has it, by the namespace of its pool', () => {
  const deployment = {
    ...object('a', '2026-01-01T00:00:00Z'),
    spec: {
      clusterPoolRef: { namespace: 'pools', claimName: 'mine', clusterDeploymentCustomization: { name: 'dallas' } },
    },
  }
  expect(clusterOf(deployment)).toEqual({
    uid: 'a',
    name: 'n/a',
    customization: 'pools/dallas',
    claim: 'pools/mine',
    isDeleting: true,
  })
  expect(clusterOf({ ...object('b'), spec: {} })).toMatchObject({ customization: undefined, claim: undefined })
})
