/** The rules of docs/spec/clusterpool.md about the inventory and its leases. */
import { describe, expect, test } from 'vitest'
import type { InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import {
  aClaim,
  aCluster,
  aCustomization,
  aPool,
  BAD_PATCH,
  minutes,
  versionOf,
} from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, entriesIn, planPass, statusIn, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { computePoolVersion } from '../cluster/pool-version.ts'
import { LEASE_GRACE_MS } from '../lease/lease.ts'
import { FIRST_COOL_OFF_MS } from './attempts.ts'

const VERSION = computePoolVersion(aPool({ inventory: ['a'] }).spec)
const failed = (count: number, uid = 'uid-old'): InventoryEntry['failure'] => ({
  count,
  uid,
  poolVersion: VERSION,
  message: 'cluster old failed: no more tries',
})
const entry = (name: string, says: Partial<InventoryEntry> = {}): InventoryEntry => ({
  version: versionOf(name),
  status: 'Available',
  attempts: 3,
  ...says,
})

describe('taking a lease', () => {
  test('POOL-2: an unused customization is leased for the cluster that is missing', () => {
    const plan = planPass({ pool: aPool({ inventory: ['a'] }), customizations: [aCustomization('a')] })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-1 with a'])
    const [create] = plan.actions.filter((action) => action.action === 'CreateCluster')
    expect(create).toMatchObject({
      lease: 'take',
      cluster: { name: 'pool-1', namespace: 'pool-1' },
      documents: {
        installConfig: { metadata: { name: 'a' } },
        spec: { clusterName: 'a', clusterPoolRef: { clusterDeploymentCustomization: { name: 'a' } } },
      },
    })
    expect(conditionIn(plan, 'InventoryValid')).toBe('True/Valid: 1 of 1 usable')
  })

  test('POOL-4: the customization of the pool comes first and is not leased', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'], customizationRef: { name: 'all' } }),
      customizations: [
        aCustomization('a'),
        aCustomization('all', { patches: [{ op: 'add', path: '/metadata/labels', value: { from: 'all' } }] }),
      ],
    })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-1 with a'])
    expect(plan.actions).toContainEqual(
      expect.objectContaining({
        action: 'CreateCluster',
        documents: expect.objectContaining({
          installConfig: expect.objectContaining({ metadata: { name: 'a', labels: { from: 'all' } } }),
        }),
      }),
    )
  })

  test('a claimed cluster keeps its lease', () => {
    const pool = aPool({ inventory: ['a'], size: 0 })
    const plan = planPass({
      pool,
      clusters: [aCluster('one', { pool, customization: 'a', claim: 'mine' })],
      claims: [aClaim('mine', { namespace: 'one' })],
      customizations: [aCustomization('a', { cluster: 'one' })],
    })
    expect(entriesIn(plan)).toEqual({ a: 'Reserved' })
    expect(changesIn(plan)).not.toContain('ReleaseLease a')
  })

  test('POOL-13: what another pool holds is Unavailable, and that pool is named', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [aCustomization('a', { cluster: 'theirs', pool: 'other' })],
    })
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'Unavailable',
      message: 'in use by cluster theirs of pool pools/other',
    })
    expect(changesIn(plan)).toEqual([])
  })

  test('POOL-11: a patch that would move the cluster to another pool is refused', () => {
    const steal = { op: 'replace' as const, path: '/clusterPoolRef/poolName', value: 'other' }
    const thief = aCustomization('a')
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [{ ...thief, spec: { clusterDeploymentSpecPatches: [steal] } }],
    })
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'BrokenByConfiguration',
      message: "clusterDeploymentSpecPatches: clusterPoolRef is the pool's to write: leave it as it is",
    })
  })
})

describe('customizations that are missing, going or malformed', () => {
  test('POOL-7: one that is being deleted and unused counts as missing, loses our finalizer, and no cluster is made', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [aCustomization('a', { deleting: true, protected: true })],
    })
    expect(entriesIn(plan)).toEqual({ a: 'Missing' })
    expect(changesIn(plan)).toEqual(['ReleaseLease a'])
  })

  test('POOL-7: one that is being deleted and used stays until its cluster is gone', () => {
    const pool = aPool({ inventory: ['a'] })
    const customizations = [aCustomization('a', { cluster: 'one', deleting: true })]
    const inUse = planPass({ pool, clusters: [aCluster('one', { pool, customization: 'a' })], customizations })
    expect(statusIn(inUse).inventory?.a).toMatchObject({
      status: 'Reserved',
      message: 'is being deleted; goes with cluster one',
    })
    expect(changesIn(inUse)).toEqual(['SetPower one Hibernating'])
    const after = planPass({
      pool,
      clusters: [aCluster('one', { pool, customization: 'a', ending: true })],
      customizations,
    })
    expect(changesIn(after)).toEqual(['RemoveClusterFinalizer one'])
  })

  test('customizations that a pool neither lists nor holds are left alone', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      customizations: [aCustomization('a'), aCustomization('b', { available: false, protected: true })],
    })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-1 with a'])
  })

  test('POOL-12: an entry without an object is Missing, nothing is made, and it is used when it appears', () => {
    const pool = aPool({ inventory: ['a'] })
    const without = planPass({ pool })
    expect(conditionIn(without, 'InventoryValid')).toBe('False/Invalid: 0 of 1 usable; missing: a; too few for size 1')
    expect(changesIn(without)).toEqual([])
    expect(targetsOf(planPass({ pool, customizations: [aCustomization('a')] }), 'CreateCluster')).toEqual([
      'pool-1 with a',
    ])
  })

  test('POOL-10, POOL-14: beside a bad one the good one is used, and the operation that fails is told', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['bad', 'good'], size: 2 }),
      customizations: [aCustomization('bad', { patches: [BAD_PATCH] }), aCustomization('good')],
    })
    expect(targetsOf(plan, 'CreateCluster')).toHaveLength(1)
    expect(targetsOf(plan, 'CreateCluster')[0]).toMatch(/with good$/)
    expect(entriesIn(plan)).toEqual({ bad: 'BrokenByConfiguration', good: 'Available' })
    expect(conditionIn(plan, 'InventoryValid')).toBe(
      'False/Invalid: 1 of 2 usable; broken: bad (installConfigPatches: operation 0 (replace /metadata/nope): /metadata/nope does not exist); too few for size 2',
    )
  })

  test('POOL-14: a cluster that the API server refused makes its customization broken until it is edited', () => {
    const pool = aPool({ inventory: ['a'] })
    const refused = new Map([['a', { version: versionOf('a'), message: 'spec.clusterName: Too long' }]])
    const plan = planPass({ pool, customizations: [aCustomization('a')], refused })
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'BrokenByConfiguration',
      message: 'the API server refuses its cluster: spec.clusterName: Too long',
    })
    expect(changesIn(plan)).toEqual([])
    expect(
      changesIn(planPass({ pool, customizations: [aCustomization('a', { generation: 2 })], refused })),
    ).toHaveLength(1)
  })

  test('POOL-14: a bad one that was corrected is used in the same pass', () => {
    const pool = aPool({ inventory: ['a'], entries: { a: entry('a', { status: 'BrokenByConfiguration' }) } })
    const plan = planPass({ pool, customizations: [aCustomization('a', { generation: 2 })] })
    expect(targetsOf(plan, 'CreateCluster')).toEqual(['pool-1 with a'])
  })
})

describe('healing references', () => {
  const pool = aPool({ inventory: ['a'] })
  const user = aCluster('one', { pool, customization: 'a', wants: 'Hibernating', state: 'standby' })

  test.each<[string, Parameters<typeof aCustomization>[1]]>([
    ['free although a cluster uses it', {}],
    ['leased, and no condition says so', { cluster: 'one', available: true }],
    ['leased, and unprotected', { cluster: 'one', protected: false }],
    ['names a cluster that is gone', { cluster: 'dead' }],
  ])('%s', (_what, says) => {
    const absent = [{ name: 'dead', namespace: 'dead' }]
    const plan = planPass({ pool, clusters: [user], customizations: [aCustomization('a', says)], absent })
    expect(changesIn(plan)).toEqual(['RepairLease a'])
    expect(plan.actions).toContainEqual(
      expect.objectContaining({
        action: 'RepairLease',
        cluster: expect.objectContaining({ name: 'one', namespace: 'one' }),
      }),
    )
    expect(entriesIn(plan)).toEqual({ a: 'Reserved' })
  })

  test('POOL-5: an available one that still names a dead cluster is used at once', () => {
    const plan = planPass({
      pool,
      customizations: [aCustomization('a', { cluster: 'dead', available: true })],
      absent: [{ name: 'dead', namespace: 'dead' }],
    })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-1 with a'])
  })

  test('POOL-5: and cleaned when no cluster is wanted', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'], size: 0 }),
      customizations: [aCustomization('a', { cluster: 'dead', available: true })],
      absent: [{ name: 'dead', namespace: 'dead' }],
    })
    expect(changesIn(plan)).toEqual(['ReleaseLease a'])
  })

  test('POOL-3: a lease without its cluster is used for the cluster of that name', () => {
    const customizations = [aCustomization('a', { cluster: 'pool-x', since: 58 })]
    const plan = planPass({ pool, customizations, absent: [{ name: 'pool-x', namespace: 'pool-x' }] })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-x with a'])
    expect(plan.actions).toContainEqual(expect.objectContaining({ action: 'CreateCluster', lease: 'held' }))
  })

  test('POOL-5: and released when none is wanted, after its holder had time to make the cluster', () => {
    const given = {
      pool: aPool({ inventory: ['a'], size: 0 }),
      customizations: [aCustomization('a', { cluster: 'pool-x', since: 60 })],
      absent: [{ name: 'pool-x', namespace: 'pool-x' }],
    }
    const early = planPass({ ...given, at: 60 })
    expect(changesIn(early)).toEqual([])
    expect(early.recheckAt).toEqual(new Date(minutes(60).getTime() + LEASE_GRACE_MS))
    expect(changesIn(planPass({ ...given, at: 60 + LEASE_GRACE_MS / 60_000 }))).toEqual(['ReleaseLease a'])
  })

  test('without the proof that its cluster is gone no lease is released', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'], size: 0 }),
      customizations: [aCustomization('a', { cluster: 'pool-x' })],
      at: 600,
    })
    expect(changesIn(plan)).toEqual([])
  })

  test('a lease whose cluster exists and was not seen yet counts as one that installs', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a', 'b'] }),
      customizations: [aCustomization('a', { cluster: 'pool-x' }), aCustomization('b')],
    })
    expect(changesIn(plan)).toEqual([])
    expect(statusIn(plan).inventory?.a).toMatchObject({ status: 'Reserved', clusterDeployment: { name: 'pool-x' } })
  })

  test('POOL-5: another pool’s lease is taken over only when its cluster is gone and had time to appear', () => {
    const given = {
      pool,
      customizations: [aCustomization('a', { cluster: 'theirs', pool: 'other', since: 60 })],
      absent: [{ name: 'theirs', namespace: 'theirs' }],
    }
    expect(changesIn(planPass({ ...given, at: 61 }))).toEqual([])
    expect(changesIn(planPass({ ...given, at: 66 }))).toEqual(['CreateCluster pool-1 with a'])
  })

  test('two clusters with one customization: the one that holds the lease keeps it, the other is outdated', () => {
    const two = aPool({ inventory: ['a'], size: 2 })
    const plan = planPass({
      pool: two,
      clusters: [
        aCluster('one', { pool: two, customization: 'a' }),
        aCluster('two', { pool: two, customization: 'a' }),
      ],
      customizations: [aCustomization('a', { cluster: 'two' })],
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['one'])
    expect(conditionIn(plan, 'AllClustersCurrent')).toBe('False/SomeClusterDeploymentsStale: one')
  })
})

describe('failures', () => {
  const pool = (says: Parameters<typeof aPool>[0] = {}) => aPool({ inventory: ['a'], ...says })
  const broken = aCluster('one', { pool: pool(), customization: 'a', state: 'broken' })
  const customizations = [aCustomization('a', { cluster: 'one' })]

  test('POOL-16: the first failed cluster costs an attempt, and stays until that is written', () => {
    const plan = planPass({ pool: pool(), clusters: [broken], customizations })
    expect(statusIn(plan).inventory?.a).toEqual({
      version: versionOf('a'),
      status: 'Reserved',
      attempts: 2,
      failure: { count: 1, uid: 'uid-one', poolVersion: VERSION, message: 'cluster one failed: no more tries' },
      retryTime: new Date(minutes(60).getTime() + FIRST_COOL_OFF_MS).toISOString(),
      clusterDeployment: { name: 'one', namespace: 'one' },
      message:
        'cluster one failed: no more tries; 1 of 3 attempts used; tried again at 2026-03-01T09:05:00.000Z or later',
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })

  test('POOL-16: the same cluster is counted once, however often the pass is repeated', () => {
    const { inventory } = statusIn(planPass({ pool: pool(), clusters: [broken], customizations }))
    const again = planPass({ pool: pool({ entries: inventory ?? {} }), clusters: [broken], customizations, at: 90 })
    expect(statusIn(again).inventory).toEqual(inventory)
    expect(targetsOf(again, 'DeleteCluster')).toEqual(['one'])
  })

  test('POOL-15: the last attempt makes it BrokenByCloud', () => {
    const entries = { a: entry('a', { attempts: 1, failure: failed(2) }) }
    const plan = planPass({ pool: pool({ entries }), clusters: [broken], customizations })
    expect(statusIn(plan).inventory?.a).toMatchObject({
      status: 'BrokenByCloud',
      attempts: 0,
      message: 'cluster one failed: no more tries; 3 of 3 attempts used; edit the customization to try again',
    })
  })

  test('between attempts it cools off, and the pass says when to look again', () => {
    const entries = { a: entry('a', { failure: failed(1), retryTime: minutes(65).toISOString() }) }
    const given = { pool: pool({ entries }), customizations: [aCustomization('a')] }
    const cooling = planPass({ ...given, at: 64 })
    expect(changesIn(cooling)).toEqual([])
    expect(entriesIn(cooling)).toEqual({ a: 'Available' })
    expect(cooling.recheckAt).toEqual(minutes(65))
    expect(conditionIn(cooling, 'Reconciling')).toMatch(/^True\/WaitingForCustomizations: /)
    expect(changesIn(planPass({ ...given, at: 65 }))).toEqual(['CreateCluster pool-1 with a'])
  })

  test('what is used up is not tried again, and the pool says that it is stuck', () => {
    const entries = { a: entry('a', { failure: failed(3) }) }
    const plan = planPass({ pool: pool({ entries }), customizations: [aCustomization('a')] })
    expect(changesIn(plan)).toEqual([])
    expect(conditionIn(plan, 'Stalled')).toMatch(/^True\/NoFreeCustomization: .*broken by cloud: a/)
  })

  test('a cluster that was installed makes up for the failures before it', () => {
    const entries = { a: entry('a', { status: 'Reserved', attempts: 1, failure: failed(2) }) }
    const plan = planPass({
      pool: pool({ entries }),
      clusters: [aCluster('one', { pool: pool(), customization: 'a' })],
      customizations,
    })
    expect(statusIn(plan).inventory?.a).toEqual({
      version: versionOf('a'),
      status: 'Reserved',
      attempts: 3,
      clusterDeployment: { name: 'one', namespace: 'one' },
    })
  })

  test('with more clusters wanted than customizations, a broken one still goes', () => {
    const big = pool({ size: 3, entries: { a: entry('a', { failure: failed(1, 'uid-one') }) } })
    expect(targetsOf(planPass({ pool: big, clusters: [broken], customizations }), 'DeleteCluster')).toEqual(['one'])
  })

  test('another pool version is another chance', () => {
    const entries = { a: entry('a', { failure: { count: 3, uid: 'x', message: 'y', poolVersion: 'older' } }) }
    const plan = planPass({ pool: pool({ entries }), customizations: [aCustomization('a')] })
    expect(targetsOf(plan, 'CreateCluster')).toEqual(['pool-1 with a'])
  })
})

describe('order', () => {
  test('POOL-3: what failed comes last, otherwise the order of the list holds', () => {
    const entries = { bad: entry('bad', { failure: failed(1) }), good: entry('good') }
    const plan = planPass({
      pool: aPool({ inventory: ['bad', 'good', 'never'], size: 2, entries }),
      customizations: ['bad', 'good', 'never'].map((name) => aCustomization(name)),
    })
    expect(targetsOf(plan, 'CreateCluster').map((text) => text.split(' with ')[1])).toEqual(['good', 'never'])
  })
})

describe('changes of an inventory', () => {
  const without = aPool({ size: 1 })

  test('POOL-21: existing unclaimed clusters are outdated and replaced', () => {
    const plan = planPass({
      pool: aPool({ inventory: ['a'] }),
      clusters: [aCluster('one', { pool: without })],
      customizations: [aCustomization('a')],
    })
    expect(conditionIn(plan, 'AllClustersCurrent')).toBe('False/SomeClusterDeploymentsStale: one')
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['one'])
  })

  test('POOL-22: it appears, and no cluster is replaced for it', () => {
    const pool = aPool({ inventory: ['a', 'b'], entries: { a: entry('a', { status: 'Reserved' }) } })
    const plan = planPass({
      pool,
      clusters: [aCluster('one', { pool, customization: 'a', state: 'standby' })],
      customizations: [aCustomization('a', { cluster: 'one' }), aCustomization('b')],
    })
    expect(entriesIn(plan)).toEqual({ a: 'Reserved', b: 'Available' })
    expect(changesIn(plan)).toEqual([])
  })

  test('POOL-23: an unused one goes at once', () => {
    const pool = aPool({ inventory: ['a'], size: 0, entries: { a: entry('a'), b: entry('b') } })
    const plan = planPass({ pool, customizations: [aCustomization('a'), aCustomization('b')] })
    expect(entriesIn(plan)).toEqual({ a: 'Available' })
  })

  test('POOL-23: an unclaimed cluster of it is deleted, and the entry is ToBeDeleted until then', () => {
    const pool = aPool({ inventory: ['a'] })
    const plan = planPass({
      pool,
      clusters: [aCluster('one', { pool, customization: 'b' })],
      customizations: [aCustomization('a'), aCustomization('b', { cluster: 'one' })],
    })
    expect(entriesIn(plan)).toEqual({ a: 'Available', b: 'ToBeDeleted' })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['one'])
  })

  test('POOL-23: a claimed cluster of it stays, and the entry with it', () => {
    const pool = aPool({ inventory: ['a'], size: 0 })
    const plan = planPass({
      pool,
      clusters: [aCluster('one', { pool, customization: 'b', claim: 'mine' })],
      claims: [aClaim('mine', { namespace: 'one' })],
      customizations: [aCustomization('a'), aCustomization('b', { cluster: 'one' })],
    })
    expect(entriesIn(plan)).toEqual({ a: 'Available', b: 'ToBeDeleted' })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })

  test('POOL-24: all entries are ToBeDeleted, and clusters are replaced gradually', () => {
    const before = aPool({ inventory: ['a', 'b'], size: 2 })
    const names = ['a', 'b'] as const
    const plan = planPass({
      pool: aPool({ size: 2, entries: { a: entry('a', { status: 'Reserved' }), c: entry('c') } }),
      clusters: names.map((name) => aCluster(`with-${name}`, { pool: before, customization: name })),
      customizations: names.map((name) => aCustomization(name, { cluster: `with-${name}` })),
    })
    expect(entriesIn(plan)).toEqual({ a: 'ToBeDeleted', b: 'ToBeDeleted' })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['with-a'])
  })

  test('POOL-25: a free one starts anew with its new version', () => {
    const entries = { a: entry('a', { status: 'BrokenByCloud', attempts: 0, failure: failed(3) }) }
    const pool = aPool({ inventory: ['a'], size: 0, entries })
    const plan = planPass({ pool, customizations: [aCustomization('a', { generation: 2 })] })
    expect(statusIn(plan).inventory?.a).toEqual({ version: versionOf('a', 2), status: 'Available', attempts: 3 })
  })

  test('POOL-25: a reserved one is ToBeUpdated and its unclaimed cluster outdated', () => {
    const pool = aPool({ inventory: ['a'] })
    const customizations = [aCustomization('a', { cluster: 'one', generation: 2 })]
    const unclaimed = planPass({ pool, clusters: [aCluster('one', { pool, customization: 'a' })], customizations })
    expect(statusIn(unclaimed).inventory?.a).toMatchObject({ status: 'ToBeUpdated', version: versionOf('a') })
    expect(targetsOf(unclaimed, 'DeleteCluster')).toEqual(['one'])
    const claimed = planPass({
      pool: aPool({ inventory: ['a'], size: 0 }),
      clusters: [aCluster('one', { pool, customization: 'a', claim: 'mine' })],
      claims: [aClaim('mine', { namespace: 'one' })],
      customizations,
    })
    expect(entriesIn(claimed)).toEqual({ a: 'ToBeUpdated' })
    expect(changesIn(claimed)).toEqual([])
  })
})

test('POOL-17: the condition says for people what is usable, what is not and whether it is enough', () => {
  const pool = aPool({
    inventory: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    size: 2,
    entries: { f: entry('f', { failure: failed(3) }) },
  })
  const plan = planPass({
    pool,
    customizations: [
      ...['a', 'b', 'f', 'g'].map((name) => aCustomization(name)),
      aCustomization('d', { patches: [BAD_PATCH] }),
      aCustomization('e', { cluster: 'theirs', pool: 'other' }),
    ],
  })
  expect(conditionIn(plan, 'InventoryValid')).toBe(
    'False/Invalid: 3 of 7 usable; missing: c; in use elsewhere: e; broken: d (installConfigPatches: operation 0 (replace /metadata/nope): /metadata/nope does not exist); broken by cloud: f (cluster old failed: no more tries; 3 of 3 attempts used; edit the customization to try again)',
  )
  expect(statusIn(plan).inventorySummary).toBe('3/7')
})
