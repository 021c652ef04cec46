/** Rules of docs/spec/clusterpool.md that a controller of pools breaks easily: each was a fault of one once. */
import { expect, test } from 'vitest'
import { customizeInstallConfig } from '#apis/hive.openshift.io/model/customization.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import {
  aClaim,
  aCluster,
  aCustomization,
  aNamespace,
  aPool,
  BAD_PATCH,
  minutes,
  versionOf,
} from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, entriesIn, planPass } from '#test/worlds/clusterpool/scenario.ts'
import { World } from '#test/worlds/clusterpool/simulated.ts'
import { computePoolVersion } from './cluster/pool-version.ts'
import { LEASE_GRACE_MS } from './lease/lease.ts'
import { indexEntries } from './observe/indexes.ts'

test('POOL-1, POOL-5: a customization that another pool’s cluster holds is neither released nor used, though this pool lists it', () => {
  const pool = aPool({ inventory: ['a'] })
  const plan = planPass({
    pool,
    customizations: [aCustomization('a', { cluster: 'theirs', pool: 'other' })],
    at: 6_000,
  })
  expect(changesIn(plan)).toEqual([])
  expect(entriesIn(plan)).toEqual({ a: 'Unavailable' })
})

test('POOL-8: a customization released in mid-installation and used again comes to rest, with its references stored', () => {
  const pool = aPool({ inventory: ['a'] })
  const world = new World({ pools: [pool], customizations: [aCustomization('a')] })
  world.pass('pool')
  const resize = (size: number) => {
    const now = world.pools.get('pool') ?? pool
    world.pools.set('pool', { ...now, spec: { ...now.spec, size } })
    return world.runUntilStable(['pool'])
  }
  expect(resize(0)).toEqual([])
  expect(resize(1)).toEqual([])
  const [cluster] = world.clusters.keys()
  expect(world.customizations.get('a')?.status?.clusterDeploymentRef?.name).toBe(cluster)
})

test('POOL-8: a lease that names no cluster is written for the one that is there, not for one that only its lease holds', () => {
  const pool = aPool({ inventory: ['a'] })
  const clusters = [
    aCluster('left', { pool, customization: 'a', ending: true }),
    aCluster('there', { pool, customization: 'a', state: 'installing', wants: 'Hibernating', at: 1 }),
  ]
  const plan = planPass({ pool, clusters, customizations: [aCustomization('a')] })
  expect(changesIn(plan)).toEqual(['RemoveClusterFinalizer left', 'RepairLease a'])
})

test('POOL-5: an available customization that still names a dead cluster is cleaned', () => {
  const pool = aPool({ inventory: ['a'], size: 0 })
  const customizations = [aCustomization('a', { cluster: 'dead', available: true })]
  expect(changesIn(planPass({ pool, customizations, absent: [{ name: 'dead', namespace: 'dead' }] }))).toEqual([
    'ReleaseLease a',
  ])
})

test('POOL-35: after a creation that failed the next pass tries it again at once, under the same name', () => {
  const pool = aPool({ inventory: ['a'] })
  const customizations = [aCustomization('a', { cluster: 'pool-x', since: 60 })]
  const plan = planPass({ pool, customizations, absent: [{ name: 'pool-x', namespace: 'pool-x' }], at: 60 })
  expect(changesIn(plan)).toEqual(['CreateCluster pool-x with a'])
})

test('POOL-36: a namespace in which no cluster came to be goes, once its maker had time enough', () => {
  const given = { pool: aPool({ size: 0 }), namespaces: [aNamespace('pool-x', 60)] }
  const early = planPass({ ...given, at: 60 })
  expect(changesIn(early)).toEqual([])
  expect(early.recheckAt).toEqual(new Date(minutes(60).getTime() + LEASE_GRACE_MS))
  expect(changesIn(planPass({ ...given, at: 65 }))).toEqual(['DeleteNamespace pool-x'])
  const used = [{ ...aNamespace('pool-x'), isUsed: true }]
  expect(changesIn(planPass({ ...given, namespaces: used, at: 65 }))).toEqual([])
})

test('POOL-36: a namespace whose cluster was seen, and is there no more, goes at once, unless that cluster is still to be made', () => {
  const seen = [{ ...aNamespace('pool-x', 60), wasUsed: true }]
  const given = { pool: aPool({ size: 0 }), namespaces: seen, at: 60 }
  expect(changesIn(planPass(given))).toEqual(['DeleteNamespace pool-x'])
  expect(
    changesIn(planPass({ ...given, namespaces: [{ ...aNamespace('pool-x', 60), isUsed: true, wasUsed: true }] })),
  ).toEqual([])
  expect(changesIn(planPass({ ...given, begun: [{ name: 'pool-x', namespace: 'pool-x' }] }))).toEqual([])
  const pool = aPool({ inventory: ['a'], maxConcurrent: 0 })
  const customizations = [aCustomization('a', { cluster: 'pool-x', since: 60 })]
  const absent = [{ name: 'pool-x', namespace: 'pool-x' }]
  expect(changesIn(planPass({ pool, customizations, absent, namespaces: seen, at: 60 }))).toEqual([])
})

test('POOL-36: a namespace that is being deleted is neither deleted again nor waited for, however long that takes', () => {
  const namespaces = [{ ...aNamespace('pool-x'), terminating: true }]
  const pool = aPool({ size: 0 })
  const plan = planPass({ pool, namespaces, at: 6_000 })
  expect(changesIn(plan)).toEqual([])
  expect(plan.recheckAt).toBeUndefined()
  expect(planPass({ pool, namespaces, at: 1 }).recheckAt).toBeUndefined()
})

test('POOL-36: a lease that names the cluster to be made keeps its namespace', () => {
  const pool = aPool({ inventory: ['a'], maxConcurrent: 0 })
  const customizations = [aCustomization('a', { cluster: 'pool-x', since: 60 })]
  const absent = [{ name: 'pool-x', namespace: 'pool-x' }]
  expect(changesIn(planPass({ pool, customizations, absent, namespaces: [aNamespace('pool-x')], at: 62 }))).toEqual([])
})

test('POOL-10: beside a bad customization the good one is used, power states are written and claims are served', () => {
  const pool = aPool({ inventory: ['bad', 'good', 'b'], size: 2, runningCount: 0 })
  const plan = planPass({
    pool,
    clusters: [
      aCluster('one', { pool, customization: 'b' }),
      aCluster('two', { at: 1, pool, state: 'standby', wants: 'Running' }),
    ],
    claims: [aClaim('mine')],
    customizations: [
      aCustomization('bad', { patches: [BAD_PATCH] }),
      aCustomization('good'),
      aCustomization('b', { cluster: 'one' }),
    ],
  })
  expect(changesIn(plan).map((deed) => deed.split(' ')[0])).toEqual(['AssignClaim', 'CreateCluster', 'SetPower'])
})

test('POOL-7: one that is deleted and unused is let go at once, one that is used when its cluster is gone', () => {
  const pool = aPool({ inventory: ['a'], size: 0 })
  const going = aCustomization('a', { deleting: true, protected: true })
  expect(changesIn(planPass({ pool, customizations: [going] }))).toEqual(['ReleaseLease a'])
  const used = aCustomization('a', { cluster: 'one', deleting: true })
  const cluster = aCluster('one', { pool, customization: 'a', deleting: true })
  expect(changesIn(planPass({ pool, customizations: [used], clusters: [cluster] }))).toEqual([])
})

test('POOL-7: one that is being deleted is not offered for use', () => {
  const plan = planPass({
    pool: aPool({ inventory: ['a'] }),
    customizations: [aCustomization('a', { deleting: true })],
  })
  expect(changesIn(plan)).toEqual([])
  expect(entriesIn(plan)).toEqual({ a: 'Missing' })
})

test('POOL-3, POOL-45: which customization is used does not depend on the order in which they were read', () => {
  const names = ['failed', 'never', 'held', 'good', 'again']
  const entry = (name: string) => ({ version: versionOf(name), status: 'Available' as const, attempts: 3 })
  const { spec } = aPool({ inventory: names })
  const failure = { count: 1, uid: 'uid-old', poolVersion: computePoolVersion(spec), message: 'no more tries' }
  const pool = aPool({
    inventory: names,
    size: 4,
    entries: {
      failed: { ...entry('failed'), failure },
      again: { ...entry('again'), failure: { ...failure, uid: 'uid-other' } },
      good: entry('good'),
    },
  })
  const customizations = names.map((name) =>
    aCustomization(name, name === 'held' ? { cluster: 'pool-x', since: 59 } : {}),
  )
  const absent = [{ name: 'pool-x', namespace: 'pool-x' }]
  const rotations = names.map((_, at) => [...customizations.slice(at), ...customizations.slice(0, at)])
  for (const read of [...rotations, ...rotations.map((one) => one.toReversed())])
    expect(changesIn(planPass({ pool, customizations: read, absent }))).toEqual([
      'CreateCluster pool-x with held',
      'CreateCluster pool-2 with never',
      'CreateCluster pool-3 with good',
      'CreateCluster pool-1 with failed',
    ])
})

test('POOL-14: a customization that was broken is used again when it was edited', () => {
  const broken = { version: '1.uid-a', status: 'BrokenByCloud' as const, attempts: 0 }
  const pool = aPool({ inventory: ['a'], entries: { a: broken } })
  expect(changesIn(planPass({ pool, customizations: [aCustomization('a', { generation: 2 })] }))).toHaveLength(1)
})

test('POOL-46: that the size can’t be met is said in words', () => {
  const plan = planPass({ pool: aPool({ inventory: ['a'], size: 3 }), customizations: [aCustomization('a')] })
  expect(conditionIn(plan, 'InventoryValid')).toBe('False/Invalid: 1 of 1 usable; too few for size 3')
})

test('POOL-36: namespaces are told by the uid of their pool: one of the same name elsewhere has another', () => {
  const labels = { [POOL_LABELS.uid]: 'uid-1', [POOL_LABELS.name]: 'pool' }
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    spec: {},
    metadata: { name: 'x', uid: 'u', resourceVersion: '1', labels },
  }
  expect([...indexEntries.namespacesOfPool(namespace)].map(([key]) => key)).toEqual(['uid-1'])
})

test('POOL-34: a pool on a cloud without sleep that is deleted takes its clusters along', () => {
  const pool = aPool({ size: 2, platform: { vsphere: {} }, deleted: true })
  expect(changesIn(planPass({ pool, clusters: [aCluster('one', { pool })] }))).toEqual(['DeleteCluster one'])
})

test('POOL-20: a field that says nothing makes no other version', () => {
  const { spec } = aPool()
  expect(computePoolVersion({ ...spec, platform: { aws: { region: 'us-east-1', userTags: {} } } })).toBe(
    computePoolVersion(spec),
  )
})

test('CLAIM-1: of claims and clusters of one second the first by name are paired', () => {
  const clusters = [aCluster('b'), aCluster('a')]
  const plan = planPass({ pool: aPool({ size: 2 }), clusters, claims: [aClaim('z'), aClaim('y')] })
  expect(changesIn(plan).slice(0, 2)).toEqual(['AssignClaim y and a', 'AssignClaim z and b'])
})

const patched = (patch: object) =>
  customizeInstallConfig({ metadata: { name: 'x' }, list: ['a'] }, [
    { name: 'c', installConfigPatches: [patch as never] },
  ]).document

test('POOL-44: a value with control characters is that value, and JSON text can’t bring further operations', () => {
  expect(patched({ op: 'replace', path: '/metadata/name', value: 'a\u0007\u000b\u007f' })).toMatchObject({
    metadata: { name: 'a\u0007\u000b\u007f' },
  })
  const smuggled = '1},{"op":"remove","path":"/metadata"'
  expect(() => patched({ op: 'add', path: '/x', valueJSON: smuggled })).toThrow(/valueJSON is no JSON/)
})

test('POOL-44: replace needs what it replaces, a path without slash means the same with it, indices count from 0', () => {
  expect(() => patched({ op: 'replace', path: '/metadata/nope', value: 1 })).toThrow(/does not exist/)
  expect(patched({ op: 'replace', path: 'metadata/name', value: 'foo' })).toMatchObject({ metadata: { name: 'foo' } })
  expect(() => patched({ op: 'add', path: '/list/-1', value: 'b' })).toThrow(/-1/)
})
