import { expect, test } from 'vitest'
import { describeHeld } from '#controllers/clusterpool/decide/inferred-deletions.ts'
import type { KubeSight } from '#test/worlds/suite/observer/sights.ts'
import {
  brokenHolds,
  type Declared,
  emptySight,
  missingFrom,
  type Sight,
  surplusIn,
  violationsOf,
} from './invariants.ts'

const declared: Declared = {
  pools: new Map([['north', { name: 'north', size: 1, customizations: ['c'], claims: ['mine'], rollouts: {} }]]),
  programs: new Map([['keeper', 1]]),
}

const cluster = (
  name: string,
  more: { claim?: string; customization?: string; deleted?: boolean } = {},
): KubeSight => ({
  kind: 'ClusterDeployment',
  metadata: {
    name,
    namespace: name,
    uid: name,
    resourceVersion: '1',
    labels: { 'hive.openshift.io/clusterpool-name': 'north' },
    ...(more.deleted === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
  spec: {
    clusterPoolRef: {
      namespace: 'n',
      ...(more.claim !== undefined && { claimName: more.claim }),
      ...(more.customization !== undefined && { clusterDeploymentCustomization: { name: more.customization } }),
    },
  },
})

const record = (id: string, registeredFor: string, isDeleting = false) => ({
  id,
  name: id,
  generation: 1,
  isDeleting,
  phase: 'Ready',
  registeredFor,
})

const sight = (more: Partial<Sight> = {}): Sight => ({ ...emptySight, ...more })

const seen = (...clusters: readonly KubeSight[]) => sight({ objects: { ClusterDeployment: clusters } })

test('a program that must go on and ended is found', () => {
  expect(violationsOf(sight({ programs: [1, 2], kept: [1] }), declared)).toEqual([])
  expect(violationsOf(sight({ programs: [2], kept: [1] }), declared)).toEqual(['the program 1 ended'])
})

test('a customization in two clusters is found, also when Kubernetes has forgotten one of them', () => {
  const customizations = new Map([
    ['a/a', 'n/c'],
    ['b/b', 'n/c'],
  ])
  const both = sight({ records: [record('1', 'a/a'), record('2', 'b/b')], customizations })
  expect(violationsOf(both, declared)).toEqual(['the customization n/c is in the clusters 1 and 2'])
  const leaving = sight({ records: [record('1', 'a/a', true), record('2', 'b/b')], customizations })
  expect(violationsOf(leaving, declared)).toEqual([])
})

test('a cluster that is deleted though a claim or its pool wants it is found', () => {
  const claimed = cluster('a', { claim: 'mine', deleted: true })
  expect(violationsOf(seen(claimed), declared)).toEqual(['the cluster a/a is deleted, and the claim mine wants it'])
  expect(violationsOf(seen(cluster('b', { deleted: true })), declared)).toEqual([
    'the cluster b/b is deleted, and north wants it',
  ])
  const released = cluster('a', { claim: 'released', deleted: true })
  expect(violationsOf(seen(released), declared)).toEqual([])
  expect(violationsOf({ ...seen(claimed), lost: new Set(['a/a']) }, declared)).toEqual([])
})

test('a cluster that its pool has one too many of is no loss, unless another was made for it', () => {
  const deleted = cluster('a', { deleted: true })
  const other = (creationTimestamp: string) => ({
    ...cluster('b'),
    metadata: { ...cluster('b').metadata, creationTimestamp },
  })
  const surplusBeside = (...others: readonly KubeSight[]) => surplusIn(seen(deleted, ...others).objects, declared)
  expect(surplusBeside()).toEqual([])
  expect(surplusBeside(other('2025-12-31T23:59:59Z'))).toEqual(['a/a'])
  expect(surplusBeside(other('2026-01-01T00:00:00Z'))).toEqual([])
  expect(surplusBeside({ ...other('2025-12-31T23:59:59Z'), ...cluster('b', { claim: 'mine' }) })).toEqual([])
})

test('what is not as declared yet is told', () => {
  const bare = { ...seen(cluster('a')), records: [record('1', 'gone/gone')] }
  expect(missingFrom(bare, declared, ['m1', 'm2', 'm3'])).toEqual([
    'ClusterPool north is not there',
    'ClusterClaim mine is not there',
    'ClusterPool north has 0 of 1 clusters ready',
    'Deployment keeper is not there',
    'the cluster a/a has no record',
    'the cluster 1 of the HyperFleet API: its ClusterDeployment gone/gone is gone',
  ])
})

test('deletions that a pool holds and does not list, or carries out all the same, are found', () => {
  const pool = (message: string, annotations: Readonly<Record<string, string>> = {}): KubeSight => ({
    kind: 'ClusterPool',
    metadata: { name: 'north', namespace: 'n', uid: 'north', resourceVersion: '1', annotations },
    status: { conditions: [{ type: 'DeletionsHeld', status: 'True', message }] },
  })
  const heldOf = (list: string, count: number): string =>
    `${count} clusters would be deleted though no person asked for it, and more than 2 at once are held: ${list}. Find out what happened to them; release them`
  const three = heldOf('a (its claim x is gone), b (its claim y is gone), c (broken)', 3)
  const given = (held: KubeSight, deleted: boolean) =>
    sight({
      objects: { ClusterPool: [held], ClusterDeployment: ['a', 'b', 'c'].map((name) => cluster(name, { deleted })) },
    })
  expect(brokenHolds(given(pool(three), false))).toEqual([])
  expect(brokenHolds(given(pool(three), true))).toEqual(['the pool n/north deletes what it holds: a/a, b/b, c/c'])
  expect(brokenHolds(given(pool(three, { 'hive.openshift.io/release-deletions': '0123' }), true))).toEqual([])
  expect(brokenHolds(given(pool(heldOf('a (broken)', 3)), false))).toEqual([
    'the pool n/north holds 3 deletions and lists 1 and 0 more',
  ])
  expect(brokenHolds(given(pool(heldOf('a (broken) and 2 more', 3)), false))).toEqual([])
  expect(brokenHolds(given(pool('three'), false))).toEqual(['the pool n/north holds deletions and lists none: three'])
})

test('the words of the brake are those that the invariant reads', () => {
  const deletions = Array.from({ length: 25 }, (_, index) => {
    return { key: `${index}`, revision: '', name: `lost-${index}`, why: 'its claim mine is gone' }
  })
  const message = describeHeld({ deletions, release: '0123456789ab', limit: 2 })
  const held = { type: 'DeletionsHeld', status: 'True', message }
  const metadata = { name: 'north', namespace: 'n', uid: 'north', resourceVersion: '1' }
  const pool: KubeSight = { kind: 'ClusterPool', metadata, status: { conditions: [held] } }
  expect(brokenHolds(sight({ objects: { ClusterPool: [pool] } }))).toEqual([])
})

test('what is held, what adapters leave, and programs that nothing declares any more are told as missing', () => {
  const none: Declared = { pools: new Map(), programs: new Map([['brief-web', 2]]) }
  const task: KubeSight = {
    kind: 'AdapterTask',
    metadata: { name: 'a', namespace: 'n', uid: 'a', resourceVersion: '1' },
    status: { conditions: [{ type: 'DeletionsHeld', status: 'True', message: 'many' }] },
  }
  const left = sight({
    objects: { AdapterTask: [task] },
    applied: new Map([
      ['Job n/one', 'gone'],
      ['ConfigMap n/two', 'p1'],
    ]),
    nodePools: ['p1', 'p2'],
    brief: new Map([
      [1, 1],
      [2, 1],
    ]),
  })
  expect(missingFrom(left, none, ['m'])).toEqual([
    'Deployment brief-web is not there',
    '1 programs of version 1 run on the machines, not 0',
    'AdapterTask n/a holds deletions: many',
    'nothing is applied for the node pool p2',
    'Job n/one, applied by an adapter: its cluster gone is gone',
  ])
})
