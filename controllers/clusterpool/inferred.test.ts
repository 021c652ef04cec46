/** Deletions that are inferred from what is not seen: POOL-52, POOL-53, CLAIM-7. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { RESTORE_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { DeletionBrake, digestDeletions } from '#operator/model/deletion-brake.ts'
import type { KubeObject } from '#operator/model/resource.ts'
import { aClaim, aCluster, aCustomization, aNamespace, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { changesIn, conditionIn, entriesIn, planPass, statusIn, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { applyBrake, createBrake, recordDeletions } from './decide/brake.ts'
import { findInferredDeletions } from './decide/inferred-deletions.ts'
import { type InferredClusterDeletion, type PoolObjects, toObserved } from './model/observed.ts'

const restoring = <O extends KubeObject>(object: O): O => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [RESTORE_LABEL]: 'true' } },
})

const NONE_ASKED = { get: () => [] }

const absentSince = (minute: number, ...names: readonly string[]) =>
  new Map(names.map((name) => [name, minutes(minute).getTime()]))

describe('CLAIM-7: a cluster whose claim is not there', () => {
  const found = (cluster: ClusterDeployment, at: number) =>
    planPass({ pool: aPool({ size: 0 }), clusters: [cluster], absentClaims: absentSince(60, 'lost'), at })

  test('stays for five minutes, and is looked at again then', () => {
    const plan = found(aCluster('a', { claim: 'lost' }), 64)
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(plan.recheckAt).toEqual(minutes(65))
    expect(targetsOf(found(aCluster('a', { claim: 'lost' }), 65), 'DeleteCluster')).toEqual(['a'])
  })

  test('POOL-52: stays while it is being restored, however long its claim takes', () => {
    expect(targetsOf(found(restoring(aCluster('a', { claim: 'lost' })), 6_000), 'DeleteCluster')).toEqual([])
  })
})

describe('POOL-53: many inferred deletions at once', () => {
  const pool = aPool({ size: 4, runningCount: 4, hibernationConfig: { resumeTimeout: '10m' } })
  const given = (count: number): PoolObjects => ({
    pool,
    claims: [],
    customizations: [],
    clusters: [
      ...Array.from({ length: count }, (_, i) => aCluster(`lost-${i}`, { pool, claim: `gone-${i}` })),
      ...Array.from({ length: 4 }, (_, i) => aCluster(`good-${i}`, { pool })),
    ],
    absentClaims: absentSince(0, ...Array.from({ length: count }, (_, i) => `gone-${i}`)),
  })

  test('are those of installed clusters whose claim is gone or that no longer come up, each with its reason', () => {
    const { clusters, ...rest } = given(1)
    const asleep = aCluster('asleep', { pool, state: 'installing', resumingSince: 30 })
    const broken = aCluster('broken', { pool, state: 'broken' })
    const observed = toObserved({ ...rest, clusters: [...clusters, asleep, broken] })
    expect(findInferredDeletions(observed, minutes(60)).map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'asleep: did not resume within 10m',
      'lost-0: its claim gone-0 is gone',
    ])
  })

  test('are listed and not carried out while they are held; the pool says how they are released', () => {
    const objects = given(3)
    const deletions = findInferredDeletions(toObserved(objects), minutes(60))
    const plan = planPass({ ...objects, heldDeletions: { deletions, release: '0123456789ab', limit: 2 } })
    expect(changesIn(plan)).toEqual([])
    expect(conditionIn(plan, 'DeletionsHeld')).toMatch(
      /^True\/TooManyAtOnce: 3 clusters would be deleted .*lost-0 \(its claim gone-0 is gone\), lost-1 .*release-deletions=0123456789ab$/,
    )
    expect(conditionIn(plan, 'Stalled')).toMatch(/^True\/DeletionsHeld/)
    expect(targetsOf(planPass(objects), 'DeleteCluster')).toEqual(['lost-0', 'lost-1', 'lost-2'])
  })
})

describe('POOL-53: clusters past their deadline', () => {
  const pool = aPool({ size: 3, runningCount: 3, provisionDeadline: '1h' })
  const ready = {
    type: 'Ready',
    status: 'False' as const,
    reason: 'Any',
    message: 'installing',
    lastTransitionTime: minutes(0).toISOString(),
  }
  const names = ['a', 'b', 'c']
  const clusters = names.map((name) => {
    const cluster = aCluster(name, { pool, state: 'installing', watched: 61 })
    return { ...cluster, status: { ...cluster.status, conditions: [ready] } }
  })

  test('are many when what tells that they are installed stands still: they are held, and free when it tells it', () => {
    const late = toObserved({ pool, clusters, claims: [], customizations: [] })
    const { verdict } = new DeletionBrake<InferredClusterDeletion>({ percent: 10, least: 2 }).decide({
      deletions: findInferredDeletions(late, minutes(61)),
      total: clusters.length,
      released: undefined,
      now: minutes(61).getTime(),
    })
    expect(verdict).toMatchObject({ verdict: 'Held', limit: 2 })
    if (verdict.verdict !== 'Held') throw new Error('they are not held')
    const plan = planPass({ pool, clusters, heldDeletions: verdict, at: 61 })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(conditionIn(plan, 'DeletionsHeld')).toContain('a (was not installed within 1h (provisionDeadline)')
    const told = names.map((name) => aCluster(name, { pool }))
    const after = toObserved({ pool, clusters: told, claims: [], customizations: [] })
    expect(findInferredDeletions(after, minutes(61))).toEqual([])
  })

  test('do not hold those whose installation was given up', () => {
    const broken = aCluster('broken', { pool, state: 'broken' })
    const observed = toObserved({ pool, clusters: [broken], claims: [], customizations: [] })
    expect(findInferredDeletions(observed, minutes(61))).toEqual([])
  })
})

describe('POOL-66: a pool whose namespace was deleted', () => {
  const deletedIn =
    (minute: number) =>
    <O extends KubeObject>(object: O): O => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: minutes(minute).toISOString() },
    })
  const clusters = [
    aCluster('free', {}),
    aCluster('theirs', { claim: 'theirs' }),
    aCluster('done', { claim: 'done', marked: true }),
  ]
  const ending = (more: Partial<PoolObjects>): PoolObjects => ({
    pool: aPool({ size: 1 }),
    clusters,
    claims: [aClaim('theirs'), deletedIn(60)(aClaim('done'))],
    customizations: [],
    namespaceDeletedAt: minutes(60).getTime(),
    ...more,
  })
  const inferred = (objects: PoolObjects) =>
    findInferredDeletions(toObserved(objects), minutes(61)).map(({ name, why }) => `${name}: ${why}`)

  test('takes none of its clusters along that a person did not name, though pool and claims are deleted one after the other', () => {
    const all = [
      'done: its claim done goes with namespace pools',
      'free: its pool goes with namespace pools',
      'theirs: its claim theirs goes with namespace pools',
    ]
    expect(inferred(ending({}))).toEqual(all)
    expect(inferred(ending({ pool: deletedIn(60)(aPool({ size: 1 })) }))).toEqual(all)
  })

  test('what was deleted before the namespace goes as it was going', () => {
    const claims = [deletedIn(61)(aClaim('theirs')), deletedIn(59)(aClaim('done'))]
    expect(inferred(ending({ claims, pool: deletedIn(59)(aPool({ size: 1 })) }))).toEqual([
      'theirs: its claim theirs goes with namespace pools',
    ])
  })

  test('names the same list before and after a cluster says what its claim says already', () => {
    const claims = [aClaim('theirs', { namespace: 'given' })]
    const listOf = (cluster: ClusterDeployment) =>
      digestDeletions(findInferredDeletions(toObserved(ending({ claims, clusters: [cluster] })), minutes(61)))
    const before = listOf(aCluster('given'))
    expect(before).toBe(listOf(aCluster('given', { claim: 'theirs' })))
    expect(before).not.toBe(listOf(aCluster('given', { claim: 'another' })))
  })

  test('holds all of them, unclaimed ones too, and says so', () => {
    const objects = ending({ pool: deletedIn(60)(aPool({ size: 1 })) })
    const deletions = findInferredDeletions(toObserved(objects), minutes(61))
    const plan = planPass({ ...objects, heldDeletions: { deletions, release: '0123456789ab', limit: 2 }, at: 61 })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(conditionIn(plan, 'DeletionsHeld')).toContain('free (its pool goes with namespace pools)')
    expect(targetsOf(planPass({ ...objects, at: 61 }), 'DeleteCluster').toSorted()).toEqual(['done', 'free'])
  })
})

/** Of a process that runs for three minutes. */
const MONOTONIC = 180_000

describe('POOL-60: the brake of a pool', () => {
  const lost = (count: number) => Array.from({ length: count }, (_, i) => aCluster(`lost-${i}`, { claim: `gone-${i}` }))
  const gone = absentSince(0, 'gone-0', 'gone-1', 'gone-2', 'gone-3')
  const observe = (pool: ClusterPool, count: number) =>
    toObserved({ pool, clusters: lost(count), claims: [], customizations: [], absentClaims: gone })
  /** What a process holds that has just begun. */
  const held = (pool: ClusterPool, count: number) => {
    const observed = observe(pool, count)
    const deletions = findInferredDeletions(observed, minutes(60))
    const { heldDeletions } = applyBrake(observed, deletions, createBrake(pool, MONOTONIC), MONOTONIC, NONE_ASKED)
    return heldDeletions?.deletions.map(({ name }) => name)
  }
  const pool = aPool({ size: 0 })

  test.for([
    ['is right', 0],
    ['is eleven minutes ahead', 11],
    ['is a day behind', -1_440],
  ] as const)(
    'counts on in the process that comes next from what was written before the deletions, also when its clock %s',
    ([, ahead]) => {
      const observed = observe(pool, 2)
      const deletions = findInferredDeletions(observed, minutes(60))
      const times = { now: MONOTONIC, epoch: minutes(60 - ahead).getTime() - MONOTONIC }
      const recentDeletions = recordDeletions(createBrake(pool, MONOTONIC), deletions, times)
      const then = { ...pool, status: { ...pool.status, recentDeletions } as ClusterPool['status'] & {} }
      expect(held(pool, 2)).toBeUndefined()
      expect(held(then, 2)).toEqual(['lost-0', 'lost-1'])
    },
  )

  test('its record stays in the status as long as it counts, by a clock that only goes forward', () => {
    const status = { ...pool.status, recentDeletions: '2026-01-01T11:58Z=2,2026-01-01T12:00Z=3' }
    const then = { ...pool, status: status as ClusterPool['status'] & {} }
    const brake = createBrake(then, MONOTONIC)
    const isCounting = (after: number, count = 0) => {
      const deletions = findInferredDeletions(observe(then, count), minutes(60))
      return applyBrake(observe(then, count), deletions, brake, MONOTONIC + after, NONE_ASKED).isBrakeCounting
    }
    expect([0, 599_999, 600_000].map((after) => isCounting(after))).toEqual([true, true, false])
    expect(isCounting(600_000, 1), 'it lets one through').toBe(true)
    const { recentDeletions } = status
    expect(statusIn(planPass({ pool: then, isBrakeCounting: true })).recentDeletions).toBe(recentDeletions)
    expect(statusIn(planPass({ pool: then, isBrakeCounting: false })).recentDeletions).toBeUndefined()
  })

  test('what it held stays held in the process that comes next, though it is less by now', () => {
    const lastTransitionTime = minutes(0).toISOString()
    const condition = {
      type: 'DeletionsHeld',
      status: 'True',
      reason: 'TooManyAtOnce',
      message: '',
      lastTransitionTime,
    } as const
    expect(held({ ...pool, status: { conditions: [condition] } }, 1)).toEqual(['lost-0'])
  })

  test('has the limits that the pool says, and its own for what the pool leaves out', () => {
    expect(held(aPool({ size: 0, deletionBrake: { least: 0, percent: 0 } }), 1)).toEqual(['lost-0'])
    expect(held(aPool({ size: 0, deletionBrake: { percent: 100 } }), 4)).toBeUndefined()
    expect(held(aPool({ size: 0, deletionBrake: { least: 3 } }), 3)).toBeUndefined()
    expect(held(aPool({ size: 0, deletionBrake: { least: 3 } }), 4)).toHaveLength(4)
  })

  test('is told by a pool that is being deleted', () => {
    const objects: PoolObjects = {
      pool: aPool({ size: 0, deleted: true }),
      clusters: lost(3),
      claims: [],
      customizations: [],
      absentClaims: gone,
    }
    const deletions = findInferredDeletions(toObserved(objects), minutes(60))
    const plan = planPass({ ...objects, heldDeletions: { deletions, release: '0123456789ab', limit: 2 } })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(conditionIn(plan, 'DeletionsHeld')).toMatch(
      /^True\/TooManyAtOnce: 3 clusters .*release-deletions=0123456789ab$/,
    )
    expect(conditionIn(plan, 'Stalled')).toMatch(/^True\/DeletionsHeld/)
  })
})

describe('POOL-52: a pool that is being restored', () => {
  const names = ['a', 'b', 'c']
  const pool = (): ClusterPool => restoring(aPool({ size: 3, inventory: names }))

  test('makes, leases, claims and deletes nothing, whatever has come back', () => {
    fc.assert(
      fc.property(
        fc.subarray(names),
        fc.array(fc.record({ claimed: fc.boolean(), state: fc.constantFrom('installing', 'running', 'broken') }), {
          maxLength: 4,
        }),
        fc.boolean(),
        (customizations, clusters, deleted) => {
          const plan = planPass({
            pool: deleted ? restoring(aPool({ size: 3, inventory: names, deleted })) : pool(),
            customizations: customizations.map((name) => aCustomization(name)),
            clusters: clusters.map(({ claimed, state }, i) =>
              aCluster(`c-${i}`, {
                state: state as 'running',
                customization: names[i % 3] ?? 'a',
                ...(claimed && { claim: `claim-${i}` }),
              }),
            ),
            absentClaims: absentSince(0, 'claim-0', 'claim-1', 'claim-2', 'claim-3'),
            at: 6_000,
          })
          const kinds = new Set(plan.actions.map(({ action }) => action))
          for (const kind of kinds) expect(['WriteStatus', 'RepairLease', 'Wait']).toContain(kind)
        },
      ),
    )
  })

  test('gives no lease back and lets no cluster go: the one that a lease names may still come', () => {
    const customizations = [
      aCustomization('a', { cluster: 'to-come' }),
      aCustomization('b', { cluster: 'to-come-too', available: true }),
      aCustomization('c', { cluster: 'ending' }),
    ]
    const absent = ['to-come', 'to-come-too'].map((name) => ({ name, namespace: name }))
    const clusters = [aCluster('ending', { customization: 'c', ending: true })]
    expect(changesIn(planPass({ pool: pool(), customizations, clusters, absent, at: 6_000 }))).toEqual([])
  })

  test('writes the leases that a backup has not, so that no other pool takes them', () => {
    const cluster = aCluster('mine', { customization: 'a', claim: 'someone' })
    const plan = planPass({ pool: pool(), clusters: [cluster], customizations: [aCustomization('a')] })
    expect(changesIn(plan)).toEqual(['RepairLease a'])
    expect(conditionIn(plan, 'Stalled')).toMatch(/^True\/Restoring/)
  })

  test('and namespaces that carry the uid of the pool as it was are never deleted, though no cluster is in them', () => {
    const earlier = { ...aNamespace('pool-x'), isOfEarlierPool: true }
    for (const deleted of [false, true]) {
      const plan = planPass({ pool: aPool({ size: 0, deleted }), namespaces: [earlier], at: 6_000 })
      expect(changesIn(plan)).not.toContain('DeleteNamespace pool-x')
    }
  })

  test('and no pool leases a customization that is being restored', () => {
    const plan = planPass({ pool: aPool({ inventory: ['a'] }), customizations: [restoring(aCustomization('a'))] })
    expect(changesIn(plan)).toEqual([])
    expect(entriesIn(plan)).toEqual({ a: 'Unavailable' })
  })
})
