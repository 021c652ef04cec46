/** Clusters of a pool whose API server can't be reached: POOL-64, POOL-67, POOL-68, CLAIM-10. */
import { describe, expect, test } from 'vitest'
import type { Namespace } from '#apis/kubernetes.ts'
import type { Duration } from '#operator/model/duration.ts'
import { aClaim, aCluster, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { conditionIn, planPass, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { applyBrake, createBrake } from './decide/brake.ts'
import { findInferredDeletions } from './decide/inferred-deletions.ts'
import { toObserved } from './model/observed.ts'
import { askedInPools, indexEntries } from './observe/indexes.ts'

const pool = aPool({ size: 1, runningCount: 1 })

describe('POOL-64: an unclaimed cluster that can’t be reached', () => {
  test('stays for a while, and is replaced when that is for long', () => {
    expect(targetsOf(planPass({ pool, clusters: [aCluster('a', { unreachable: 'now' })] }), 'DeleteCluster')).toEqual(
      [],
    )
    const plan = planPass({ pool, clusters: [aCluster('a', { unreachable: 'for long' })] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual(['a'])
  })

  test('goes only as the brake lets it: it may be the manager that has lost its network', () => {
    const clusters = ['a', 'b', 'c'].map((name) => aCluster(name, { unreachable: 'for long' }))
    const objects = { pool: aPool({ size: 3 }), clusters, claims: [], customizations: [] }
    const deletions = findInferredDeletions(toObserved(objects), minutes(60))
    expect(deletions.map(({ name, why }) => `${name}: ${why}`)).toEqual(
      ['a', 'b', 'c'].map((name) => `${name}: its API server has not answered since 2026-03-01T08:00:00Z`),
    )
    const plan = planPass({ ...objects, heldDeletions: { deletions, release: '0123456789ab', limit: 2 } })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })

  test('stays when it is claimed', () => {
    const clusters = [aCluster('a', { claim: 'mine', unreachable: 'for long' })]
    const plan = planPass({ pool: aPool({ size: 0 }), clusters, claims: [aClaim('mine', { namespace: 'a' })] })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  })
})

test('POOL-67: how long an unclaimed cluster may be silent is the pool’s to say', () => {
  const deleted = (unreachableDeadline: Duration, unreachable: 'now' | 'for long') =>
    targetsOf(
      planPass({
        pool: aPool({ size: 1, runningCount: 1, unreachableDeadline }),
        clusters: [aCluster('a', { unreachable })],
      }),
      'DeleteCluster',
    )
  // Three minutes, and half an hour.
  expect(deleted('3m', 'now')).toEqual(['a'])
  expect(deleted('4m', 'now')).toEqual([])
  expect(deleted('31m', 'for long')).toEqual([])
  expect(deleted('0s', 'for long')).toEqual([])
})

describe('POOL-68: one cluster of a pool that falls silent', () => {
  const clusters = [aCluster('a', { unreachable: 'for long' }), aCluster('b', {}), aCluster('c', {})]
  const observed = toObserved({ pool: aPool({ size: 3 }), clusters, claims: [], customizations: [] })
  const silentSince = minutes(0).getTime()

  /** @param others the minutes at which clusters of other pools fell silent @param answering how many others answer */
  const held = (others: readonly number[], answering = 0) => {
    const asked = [silentSince, ...others.map((minute) => minutes(minute).getTime())]
    const times: Readonly<Record<string, readonly number[]>> = { silent: asked, answers: Array(answering).fill(0) }
    const deletions = findInferredDeletions(observed, minutes(60))
    const lookup = { get: (key: string) => times[key] ?? [] }
    return applyBrake(observed, deletions, createBrake(observed.pool, 0), 0, lookup).heldDeletions
  }

  test('is replaced when few others do; is held with those of other pools when many do at once', () => {
    expect(held([])).toBeUndefined()
    expect(held([1])).toBeUndefined()
    expect(held([1, 2])).toMatchObject({
      deletions: [{ name: 'a' }],
      doubt: '3 unclaimed clusters of all pools fell silent at once, of 3, which is more likely the network',
    })
    expect(held([1, 2], 27)).toBeUndefined()
  })

  test('has nothing to do with those that fell silent at another time', () => {
    expect(held([-11, 11, 12, 300])).toBeUndefined()
  })

  test('is listed with the reason, and with what releases it', () => {
    const plan = planPass({
      pool: observed.pool,
      clusters,
      claims: [],
      customizations: [],
      heldDeletions: held([1, 2]),
    })
    expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
    expect(conditionIn(plan, 'DeletionsHeld')).toMatch(
      /^True\/TooManyAtOnce: 1 clusters would be deleted .* the network: a \(.*release-deletions=[0-9a-f]{12}$/,
    )
  })
})

test('POOL-107, attack: clusters outside of the namespaces of clusters say that they are a pool’s, and fall silent or answer; none is counted', () => {
  const own = [aCluster('a', { unreachable: 'for long' }), aCluster('b', { unreachable: 'now' })]
  const baits = (['True', 'False'] as const).flatMap((status) =>
    Array.from({ length: 100 }, (_, at) => {
      const bait = aCluster(`bait-${at}`, { unreachable: 'now' })
      const conditions = bait.status?.conditions?.map((one) => ({ ...one, status }))
      return { ...bait, metadata: { ...bait.metadata, namespace: 'mallory' }, status: { ...bait.status, conditions } }
    }),
  )
  const places = new Map(own.map(({ metadata }) => [metadata.namespace ?? '', [{} as Namespace]]))
  const asked = askedInPools(lookup([...own, ...baits].flatMap((one) => [...indexEntries.askedClusters(one)])), {
    get: (name) => places.get(name) ?? [],
  })
  expect([asked.get('silent').length, asked.get('answers').length]).toEqual([2, 0])
})

const lookup = <V>(entries: readonly (readonly [string, V])[]) => ({
  get: (key: string) => entries.flatMap(([under, value]) => (under === key ? [value] : [])),
})

test('CLAIM-10: a cluster that can’t be reached is given to no claim; one that was never reached from here is', () => {
  const given = (unreachable: 'now' | 'never', more: ReturnType<typeof aCluster>[] = []) =>
    planPass({ pool, clusters: [aCluster('a', { unreachable }), ...more], claims: [aClaim('mine')] })
  expect(targetsOf(given('now'), 'AssignClaim')).toEqual([])
  const alone = planPass({ pool, clusters: [aCluster('a', { unreachable: 'now' })] })
  expect(conditionIn(alone, 'Ready')).toBe('False/Resuming: running clusters: 0 of 1 that should; unreachable: a')
  expect(targetsOf(given('now', [aCluster('b', { at: 1 })]), 'AssignClaim')).toEqual(['mine and b'])
  expect(targetsOf(given('never'), 'AssignClaim')).toEqual(['mine and a'])
})
