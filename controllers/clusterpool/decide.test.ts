/** The rules of docs/spec/clusterpool.md but for those of the inventory, which are in inventory.test.ts. */
import { describe, expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { LEASE_FINALIZER } from '#apis/hive.openshift.io/v1/labels.ts'
import { aClaim, aCluster, aCustomization, aNamespace, aPool, BAD_PATCH } from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, planPass, statusIn, targetsOf } from '#test/worlds/clusterpool/scenario.ts'

/** So many clusters of one kind, the first one the oldest. */
const many = (count: number, name: string, says: Parameters<typeof aCluster>[1] = {}): readonly ClusterDeployment[] =>
  Array.from({ length: count }, (_, index) => aCluster(`${name}-${index + 1}`, { at: index, ...says }))

const claims = (count: number) =>
  Array.from({ length: count }, (_, index) => aClaim(`claim-${index + 1}`, { at: index }))

describe('the first pass and new clusters', () => {
  test('fields of a status that a later release has written stay, and an inventory that the pool has no more goes', () => {
    const before = aPool({ size: 0 })
    const status = { ...before.status, inventorySummary: '1/2', inventory: {}, fromLater: { cost: 3 } }
    const said = statusIn(planPass({ pool: { ...before, status } as typeof before }))
    expect(said).toMatchObject({ size: 0, fromLater: { cost: 3 } })
    expect(said).not.toHaveProperty('inventorySummary')
    expect(said).not.toHaveProperty('inventory')
  })

  test('POOL-42: a pool without conditions gets them all, Unknown, and nothing else happens', () => {
    const plan = planPass({ pool: { ...aPool({ size: 3 }), status: {} } })
    expect(plan.actions.map(({ action }) => action)).toEqual(['WriteStatus'])
    expect(statusIn(plan).conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'Ready False Initialized',
      'Reconciling True Initialized',
      'Stalled False NotStalled',
      'MissingDependencies Unknown Initialized',
      'CapacityAvailable Unknown Initialized',
      'AllClustersCurrent Unknown Initialized',
      'InventoryValid Unknown Initialized',
      'DeletionPossible Unknown Initialized',
    ])
  })

  test('limits of attempts and the installer’s environment are carried over', () => {
    const installerEnv = [{ name: 'A', value: 'b' }]
    const plan = planPass({ pool: aPool({ installAttemptsLimit: 2, installerEnv }) })
    expect(plan.actions).toContainEqual(
      expect.objectContaining({
        documents: expect.objectContaining({
          spec: expect.objectContaining({
            installAttemptsLimit: 2,
            provisioning: expect.objectContaining({ installerEnv }),
          }),
        }),
      }),
    )
  })

  test('all clusters that are missing are made, each in a namespace of its own', () => {
    const plan = planPass({ pool: aPool({ size: 5 }) })
    const made = plan.actions.flatMap((action) => (action.action === 'CreateCluster' ? [action.cluster] : []))
    expect(made).toHaveLength(5)
    expect(new Set(made.map(({ namespace }) => namespace)).size).toBe(5)
    expect(made.every(({ name, namespace }) => name === namespace)).toBe(true)
  })

  test('POOL-39: what is missing is told together, and nothing is made until it is there', () => {
    const pool = aPool({ customizationRef: { name: 'all' } })
    const missing = ['credentials secret: creds', 'cluster image set: openshift-v4.20']
    const without = planPass({ pool, missing })
    expect(changesIn(without)).toEqual([])
    expect(conditionIn(without, 'MissingDependencies')).toBe(
      'True/Missing: cluster image set: openshift-v4.20; credentials secret: creds; customization of the pool: all',
    )
    expect(conditionIn(without, 'Stalled')).toMatch(/^True\/MissingDependencies: /)
    const all = aCustomization('all', { patches: [] })
    expect(conditionIn(planPass({ pool, customizations: [all] }), 'MissingDependencies')).toBe(
      'False/Verified: Dependencies verified',
    )
  })
})

// What makes a version: cluster/pool-version.test.ts.
describe('clusters of another pool version', () => {
  const outdated = { version: 'older' }

  test('their names are told, sorted', () => {
    const clusters = [aCluster('b', outdated), aCluster('a', outdated), aCluster('c')]
    expect(conditionIn(planPass({ pool: aPool({ size: 3 }), clusters }), 'AllClustersCurrent')).toBe(
      'False/SomeClusterDeploymentsStale: a, b',
    )
  })

  test('an empty stamp is Unknown, a wrong one beside it decides', () => {
    const unknown = aCluster('a', { version: null })
    const condition = (clusters: readonly ClusterDeployment[]) =>
      conditionIn(planPass({ pool: aPool({ size: clusters.length }), clusters }), 'AllClustersCurrent')
    expect(condition([unknown])).toBe('Unknown/SomeClusterDeploymentsUnknown: a')
    expect(condition([unknown, aCluster('b', outdated)])).toBe('False/SomeClusterDeploymentsStale: b')
  })

  test('claimed clusters of an older version are no matter', () => {
    const plan = planPass({
      pool: aPool({ size: 0 }),
      clusters: [aCluster('a', { ...outdated, claim: 'claim-1' })],
      claims: [aClaim('claim-1', { namespace: 'a' })],
    })
    expect(conditionIn(plan, 'AllClustersCurrent')).toMatch(/^True/)
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })

  test('POOL-30: of two the oldest goes, one at a time', () => {
    const clusters = [aCluster('young', { ...outdated, at: 2 }), aCluster('old', { ...outdated, at: 1 })]
    expect(targetsOf(planPass({ pool: aPool({ size: 2 }), clusters }), 'DeleteCluster')).toEqual(['old'])
  })

  test('POOL-30: as many at a time as staleReplacement says', () => {
    const pool = aPool({ size: 4, staleReplacement: { maxConcurrent: 3 } })
    const clusters = many(4, 'old', outdated)
    expect(targetsOf(planPass({ pool, clusters }), 'DeleteCluster')).toEqual(['old-1', 'old-2', 'old-3'])
    const busy = [...clusters.slice(0, 3), aCluster('new', { state: 'installing' })]
    expect(targetsOf(planPass({ pool, clusters: busy }), 'DeleteCluster')).toEqual(['old-1', 'old-2'])
  })

  test('POOL-30: the unstamped one goes before an older one', () => {
    const clusters = [aCluster('old', { ...outdated, at: 1 }), aCluster('unstamped', { version: null, at: 2 })]
    expect(targetsOf(planPass({ pool: aPool({ size: 2 }), clusters }), 'DeleteCluster')).toEqual(['unstamped'])
  })

  test.each<[string, readonly ClusterDeployment[]]>([
    ['another one installs', [aCluster('old', outdated), aCluster('new', { state: 'installing' })]],
    ['the pool is below its size', [aCluster('old', outdated)]],
  ])('POOL-30: none goes while %s', (_what, clusters) => {
    expect(targetsOf(planPass({ pool: aPool({ size: 2 }), clusters }), 'DeleteCluster')).toEqual([])
  })

  test('POOL-29: with one too many, the one that sleeps goes before the outdated one that runs', () => {
    const clusters = [aCluster('old', outdated), aCluster('asleep', { state: 'standby' })]
    expect(targetsOf(planPass({ clusters }), 'DeleteCluster')).toEqual(['asleep'])
  })

  test('POOL-31: outdated ones are replaced although more clusters are wanted than the inventory can give', () => {
    const pool = aPool({ inventory: ['a'], size: 3 })
    const clusters = [aCluster('one', { pool, ...outdated, customization: 'a' })]
    const plan = planPass({ pool, clusters, customizations: [aCustomization('a', { cluster: 'one' })] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['one'])
  })

  test('none is replaced while something is missing that its successor needs', () => {
    const given = { clusters: [aCluster('old', outdated)] }
    expect(targetsOf(planPass({ ...given, missing: ['cluster image set: typo'] }), 'DeleteCluster')).toEqual([])
    expect(targetsOf(planPass(given), 'DeleteCluster')).toEqual(['old'])
  })

  test.each<[string, Parameters<typeof aCustomization>[1], readonly string[]]>([
    ['can be applied', {}, ['old']],
    ['can’t be applied to what the pool is now', { patches: [BAD_PATCH] }, []],
  ])('POOL-31: one is replaced only when a customization is free or its own %s', (_what, says, deleted) => {
    const pool = aPool({ inventory: ['a'] })
    const clusters = [aCluster('old', { pool, ...outdated, customization: 'a' })]
    const plan = planPass({ pool, clusters, customizations: [aCustomization('a', { cluster: 'old', ...says })] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(deleted)
  })

  test('POOL-31: none is replaced when clusters failed with two customizations and none of the new version was installed', () => {
    const pool = aPool({ inventory: ['a', 'b', 'c'], size: 3 })
    const poolVersion = statusIn(planPass({ pool })).poolVersion ?? ''
    const failed = (name: string) => ({
      version: `1.uid-${name}`,
      status: 'BrokenByCloud' as const,
      attempts: 0,
      failure: { count: 3, uid: 'gone', poolVersion, message: 'no more tries' },
    })
    const plan = planPass({
      pool: { ...pool, status: { conditions: [], inventory: { a: failed('a'), b: failed('b') } } },
      clusters: [aCluster('one', { pool, ...outdated, customization: 'c' })],
      customizations: [aCustomization('a'), aCustomization('b'), aCustomization('c', { cluster: 'one' })],
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(targetsOf(plan, 'Wait')).toEqual(['size', 'stale'])
  })
})

describe('broken clusters', () => {
  test('POOL-32: only unclaimed broken ones go', () => {
    const clusters = [
      aCluster('healthy'),
      aCluster('broken', { state: 'broken' }),
      aCluster('theirs', { state: 'broken', claim: 'claim-1' }),
    ]
    const plan = planPass({ pool: aPool({ size: 2 }), clusters, claims: [aClaim('claim-1', { namespace: 'theirs' })] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['broken'])
  })

  test('POOL-28: no more than maxConcurrent, the oldest first', () => {
    const plan = planPass({
      pool: aPool({ size: 4, maxConcurrent: 2 }),
      clusters: many(4, 'broken', { state: 'broken' }),
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['broken-1', 'broken-2'])
  })

  test('POOL-26: below the size a cluster is made before anything is deleted', () => {
    const plan = planPass({ pool: aPool({ size: 2 }), clusters: [aCluster('broken', { state: 'broken' })] })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-2'])
  })

  test('POOL-29: with one too many, the broken one is it', () => {
    const clusters = [aCluster('asleep', { state: 'standby' }), aCluster('broken', { state: 'broken' })]
    expect(targetsOf(planPass({ clusters }), 'DeleteCluster')).toEqual(['broken'])
  })

  test('POOL-27: at maxSize the broken one goes', () => {
    const clusters = [aCluster('healthy'), aCluster('broken', { state: 'broken' })]
    const plan = planPass({ pool: aPool({ size: 2, maxSize: 2 }), clusters, claims: claims(2) })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['broken'])
  })

  test.each<[string, Parameters<typeof aCluster>[1], boolean]>([
    ['resuming for 11m', { state: 'installing', resumingSince: 49 }, true],
    ['resuming for 9m', { state: 'installing', resumingSince: 51 }, false],
    ['never resuming', { state: 'standby', wants: 'Running' }, false],
    ['running', { state: 'running' }, false],
  ])('POOL-32: resumeTimeout 10m, %s', (_what, says, isBroken) => {
    const pool = aPool({ runningCount: 1, hibernationConfig: { resumeTimeout: '10m' } })
    const plan = planPass({ pool, clusters: [aCluster('one', says)] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(isBroken ? ['one'] : [])
  })

  test('POOL-32: without a resumeTimeout a cluster may resume for ever', () => {
    const resuming = aCluster('one', { state: 'installing', resumingSince: 0 })
    expect(targetsOf(planPass({ clusters: [resuming], at: 6_000 }), 'DeleteCluster')).toEqual([])
  })
})

describe('limits', () => {
  test('POOL-27: at maxSize nothing is made; claimed and deleting clusters count', () => {
    const clusters = [
      aCluster('claimed', { claim: 'claim-1' }),
      aCluster('free'),
      aCluster('going', { deleting: true }),
    ]
    const given = { clusters, claims: [aClaim('claim-1', { namespace: 'claimed' })] }
    const full = planPass({ pool: aPool({ size: 3, maxSize: 3 }), ...given })
    expect(targetsOf(full, 'CreateCluster')).toEqual([])
    expect(conditionIn(full, 'CapacityAvailable')).toMatch(/^False\/MaxCapacity/)
    const room = planPass({ pool: aPool({ size: 4, maxSize: 4 }), ...given })
    expect(targetsOf(room, 'CreateCluster')).toHaveLength(1)
  })

  test.each([
    ['one installs and one is deleted', true, 0],
    ['one installs', false, 1],
  ])('POOL-28: maxConcurrent 2, %s', (_what, deleting, made) => {
    const clusters = [
      aCluster('new', { state: 'installing' }),
      ...(deleting ? [aCluster('going', { deleting: true })] : []),
    ]
    expect(targetsOf(planPass({ pool: aPool({ size: 5, maxConcurrent: 2 }), clusters }), 'CreateCluster')).toHaveLength(
      made,
    )
  })

  test('POOL-28: of three too many, two go now', () => {
    const plan = planPass({ pool: aPool({ size: 0, maxConcurrent: 2 }), clusters: many(3, 'idle') })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['idle-1', 'idle-2'])
  })

  test('POOL-28: maxConcurrent 0 freezes the pool, and it says so', () => {
    const plan = planPass({
      pool: aPool({ size: 2, maxConcurrent: 0 }),
      clusters: [aCluster('b', { state: 'broken' })],
    })
    expect(changesIn(plan)).toEqual([])
    expect(conditionIn(plan, 'Stalled')).toMatch(/^True\/Frozen: /)
  })
})

describe('scaling down', () => {
  const three = [
    aCluster('runs', { at: 0 }),
    aCluster('sleeps', { at: 1, state: 'standby' }),
    aCluster('new-1', { at: 2, state: 'installing' }),
    aCluster('new-2', { at: 3, state: 'installing' }),
  ]

  test('POOL-29: the newest that installs goes first', () => {
    expect(targetsOf(planPass({ pool: aPool({ size: 3 }), clusters: three }), 'DeleteCluster')).toEqual(['new-2'])
  })

  test('POOL-29: then those that sleep; those that run stay', () => {
    expect(targetsOf(planPass({ clusters: three }), 'DeleteCluster')).toEqual(['new-2', 'new-1', 'sleeps'])
  })

  test('POOL-34: a pool on a cloud without sleep shrinks, lets all run, and says that runningCount has no effect', () => {
    const pool = aPool({ size: 1, runningCount: 0, platform: { vsphere: {} } })
    const plan = planPass({ pool, clusters: [aCluster('a', { pool, at: 0 }), aCluster('b', { pool, at: 1 })] })
    expect(changesIn(plan)).toEqual(['DeleteCluster a'])
    const after = planPass({ pool, clusters: [aCluster('b', { pool })] })
    expect(conditionIn(after, 'Ready')).toMatch(/runningCount 0 has no effect: clusters on vsphere can't hibernate$/)
  })
})

describe('a pool that is deleted', () => {
  const pool = aPool({ deleted: true, size: 3 })

  test('POOL-38: its clusters are deleted and named; without any it goes', () => {
    const plan = planPass({ pool, clusters: many(2, 'idle') })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['idle-1', 'idle-2'])
    expect(conditionIn(plan, 'DeletionPossible')).toBe('False/ClusterDeploymentsPendingCleanup: idle-1, idle-2')
    const empty = planPass({ pool })
    expect(conditionIn(empty, 'DeletionPossible')).toMatch(/^True/)
    expect(changesIn(empty)).toEqual(['RemovePoolFinalizer pool'])
  })

  test('POOL-38: no more than maxConcurrent', () => {
    const clusters = [
      aCluster('new', { state: 'installing' }),
      aCluster('going', { deleting: true }),
      ...many(3, 'idle'),
    ]
    const plan = planPass({ pool: aPool({ deleted: true, maxConcurrent: 3 }), clusters })
    expect(targetsOf(plan, 'DeleteCluster')).toHaveLength(1)
  })

  test('POOL-38: a claimed cluster stays and holds it, until it is marked', () => {
    const given = { pool, claims: [aClaim('claim-1', { namespace: 'theirs' })] }
    expect(changesIn(planPass({ ...given, clusters: [aCluster('theirs', { claim: 'claim-1' })] }))).toEqual([])
    const marked = planPass({ ...given, clusters: [aCluster('theirs', { claim: 'claim-1', marked: true })] })
    expect(changesIn(marked)).toEqual(['DeleteCluster theirs'])
  })

  test('POOL-38: it goes only when its leases are released', () => {
    const leased = aPool({ deleted: true, inventory: ['a'] })
    const customizations = [aCustomization('a', { cluster: 'pool-x' })]
    const absent = [{ name: 'pool-x', namespace: 'pool-x' }]
    expect(changesIn(planPass({ pool: leased, customizations, absent }))).toEqual(['ReleaseLease a'])
    const released = [aCustomization('a')]
    expect(changesIn(planPass({ pool: leased, customizations: released }))).toEqual(['RemovePoolFinalizer pool'])
  })

  test('no claim is given a cluster any more, and claims are told', () => {
    const plan = planPass({ pool, clusters: [aCluster('idle')], claims: claims(1) })
    expect(changesIn(plan)).toEqual(['DeleteCluster idle', 'QueueClaim claim-1 at 1'])
  })
})

describe('claims', () => {
  test('the running cluster is assigned, and its replacement is begun', () => {
    const clusters = [aCluster('runs', { at: 2 }), ...many(2, 'sleeps', { state: 'standby' })]
    const plan = planPass({ pool: aPool({ size: 3 }), clusters, claims: claims(1) })
    expect(changesIn(plan)).toEqual(['AssignClaim claim-1 and runs', 'CreateCluster pool-2'])
  })

  test('CLAIM-2, POOL-33: without a running cluster the claim is told, the oldest that sleeps is woken, and one more is made', () => {
    const plan = planPass({
      pool: aPool({ size: 2 }),
      clusters: many(2, 'sleeps', { state: 'standby' }),
      claims: claims(1),
    })
    expect(changesIn(plan)).toEqual(['CreateCluster pool-2', 'SetPower sleeps-1 Running', 'QueueClaim claim-1 at 1'])
    expect(plan.actions).toContainEqual(
      expect.objectContaining({
        action: 'QueueClaim',
        why: 'no cluster is ready: place 1 in the queue of pool pool',
      }),
    )
  })

  test('CLAIM-1: the oldest claims win, names break ties', () => {
    const late = [aClaim('c', { at: 1 }), aClaim('b', { at: 1 }), aClaim('z', { at: 0 })]
    const plan = planPass({ pool: aPool({ size: 2 }), clusters: many(2, 'runs'), claims: late })
    expect(targetsOf(plan, 'AssignClaim')).toEqual(['z and runs-1', 'b and runs-2'])
    expect(targetsOf(plan, 'QueueClaim')).toEqual(['c at 1'])
  })

  test('claims of other pools and namespaces are left alone', () => {
    const others = [aClaim('a', { pool: 'other' }), aClaim('b', { in: 'elsewhere' })]
    expect(targetsOf(planPass({ clusters: [aCluster('runs')], claims: others }), 'AssignClaim')).toEqual([])
  })

  test.each([
    [0, 1, 1],
    [2, 3, 5],
  ])('CLAIM-2: size %i and %i claims make %i clusters, and as many as there are claims run', (size, waiting, made) => {
    const plan = planPass({ pool: aPool({ size }), claims: claims(waiting) })
    const powers = plan.actions.flatMap((action) =>
      action.action === 'CreateCluster' ? [action.documents.spec.powerState] : [],
    )
    expect(powers).toHaveLength(made)
    expect(powers.filter((power) => power === 'Running')).toHaveLength(waiting)
  })

  test.each([
    [2, ['theirs']],
    [1, []],
  ])('POOL-26: a released cluster is deleted first and counts: maxConcurrent %i', (maxConcurrent, deleted) => {
    const clusters = [aCluster('theirs', { claim: 'claim-1', marked: true }), aCluster('new', { state: 'installing' })]
    const plan = planPass({
      pool: aPool({ size: 3, maxConcurrent }),
      clusters,
      claims: [aClaim('claim-1', { namespace: 'theirs' })],
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(deleted)
    expect(targetsOf(plan, 'CreateCluster')).toEqual([])
  })

  test('POOL-33: with one taken, the two oldest that are left run and the others sleep', () => {
    const plan = planPass({
      pool: aPool({ size: 4, runningCount: 2 }),
      clusters: many(4, 'c', { state: 'standby' }).map((cluster, index) =>
        index === 0 ? aCluster('c-1', { claim: 'claim-1' }) : cluster,
      ),
      claims: [aClaim('claim-1', { namespace: 'c-1' })],
    })
    expect(targetsOf(plan, 'SetPower')).toEqual(['c-2 Running', 'c-3 Running'])
  })

  test.each<[string, ClusterDeployment, ReturnType<typeof aClaim>, string[]]>([
    [
      'the claim says so alone',
      aCluster('a', { state: 'standby' }),
      aClaim('c', { namespace: 'a' }),
      ['AssignClaim c and a'],
    ],
    ['the cluster says so alone', aCluster('a', { claim: 'c' }), aClaim('c'), ['AssignClaim c and a']],
    ['both say so', aCluster('a', { claim: 'c' }), aClaim('c', { namespace: 'a' }), []],
    [
      'the cluster is going',
      aCluster('a', { deleting: true }),
      aClaim('c', { namespace: 'a' }),
      ['ClearClaim c and a', 'QueueClaim c at 1'],
    ],
  ])('a half-done link is finished or parted: %s', (_what, cluster, claim, expected) => {
    const plan = planPass({ pool: aPool({ size: 0, maxSize: 1 }), clusters: [cluster], claims: [claim] })
    expect(changesIn(plan)).toEqual(expected)
  })

  test('CLAIM-4: a claim that names the cluster of another one lets go and waits again', () => {
    const plan = planPass({
      pool: aPool({ size: 0, maxSize: 1 }),
      clusters: [aCluster('a', { claim: 'first' })],
      claims: [aClaim('first', { namespace: 'a' }), aClaim('second', { namespace: 'a' })],
    })
    expect(changesIn(plan)).toEqual(['ClearClaim second and a', 'QueueClaim second at 1'])
  })

  test('a cluster whose claim was not seen yet is left alone until a GET does not find the claim', () => {
    const plan = planPass({ pool: aPool({ size: 0 }), clusters: [aCluster('a', { claim: 'just-made' })] })
    expect(changesIn(plan)).toEqual([])
    expect(statusIn(plan).claimed).toBe(1)
  })

  test('CLAIM-7: a cluster whose claim vanished is given to no other: it goes', () => {
    const plan = planPass({
      pool: aPool({ size: 0 }),
      clusters: [aCluster('a', { claim: 'vanished' })],
      claims: claims(1),
      absentClaims: new Map([['vanished', 0]]),
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['a'])
    expect(targetsOf(plan, 'AssignClaim')).toEqual([])
  })
})

describe('POOL-37: admins of the pool', () => {
  const ann = { kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }
  const bob = { kind: 'User', name: 'bob', apiGroup: 'rbac.authorization.k8s.io' }
  const at = (name: string, admins: readonly (typeof ann)[] | undefined, terminating = false) => ({
    ...aNamespace(name),
    admins,
    terminating,
    isUsed: true,
  })
  const bindings = (admins: readonly (typeof ann)[], namespaces: readonly ReturnType<typeof at>[]) =>
    planPass({ pool: aPool({ size: 0 }), admins, namespaces }).actions.flatMap((action) =>
      action.action === 'BindAdmins' ? [[action.namespace, action.subjects.map(({ name }) => name)]] : [],
    )

  test('each namespace gets all of them, once', () => {
    expect(bindings([bob, ann, bob], [at('one', undefined), at('two', [ann])])).toEqual([
      ['one', ['ann', 'bob']],
      ['two', ['ann', 'bob']],
    ])
  })
  test('what is right stays, whatever its order', () =>
    expect(bindings([ann, bob], [at('one', [bob, ann])])).toEqual([]))
  test('dropping the last one revokes', () => expect(bindings([], [at('one', [ann])])).toEqual([['one', []]]))
  test('namespaces that are going are left alone', () =>
    expect(bindings([ann], [at('one', undefined, true)])).toEqual([]))
})

test('POOL-6: the lease is released before its cluster goes, and only when nothing else holds the cluster', () => {
  const pool = aPool({ inventory: ['a'], size: 0 })
  const customizations = [aCustomization('a', { cluster: 'one' })]
  const going = aCluster('one', { pool, customization: 'a', deleting: true })
  expect(changesIn(planPass({ pool, customizations, clusters: [going] }))).toEqual([])
  const ending = aCluster('one', { pool, customization: 'a', ending: true })
  expect(ending.metadata.finalizers).toEqual([LEASE_FINALIZER])
  const [letGo] = planPass({ pool, customizations, clusters: [ending] }).actions.filter(
    (one) => one.action === 'RemoveClusterFinalizer',
  )
  expect(letGo).toMatchObject({ cluster: { name: 'one' }, customization: { name: 'a' } })
})

test('a pool that is as wanted plans nothing', () => {
  const pool = aPool({ size: 2, runningCount: 1 })
  const given = { pool, clusters: [aCluster('a'), aCluster('b', { at: 1, state: 'standby' })] }
  const status = statusIn(planPass(given))
  expect(conditionIn(planPass(given), 'Ready')).toBe('True/Filled: 2 of 2 wanted clusters are installed; running: 1')
  expect(planPass({ ...given, pool: { ...pool, status } }).actions).toEqual([])
})
