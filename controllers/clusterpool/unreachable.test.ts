/** Clusters of a pool whose API server can't be reached: POOL-64, CLAIM-10. */
import { describe, expect, test } from 'vitest'
import { aClaim, aCluster, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { conditionIn, planPass, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { findInferredDeletions } from './decide/inferred-deletions.ts'
import { toObserved } from './model/observed.ts'

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

test('CLAIM-10: a cluster that can’t be reached is given to no claim; one that was never reached from here is', () => {
  const given = (unreachable: 'now' | 'never', more: ReturnType<typeof aCluster>[] = []) =>
    planPass({ pool, clusters: [aCluster('a', { unreachable }), ...more], claims: [aClaim('mine')] })
  expect(targetsOf(given('now'), 'AssignClaim')).toEqual([])
  const alone = planPass({ pool, clusters: [aCluster('a', { unreachable: 'now' })] })
  expect(conditionIn(alone, 'Ready')).toBe('False/Resuming: running clusters: 0 of 1 that should; unreachable: a')
  expect(targetsOf(given('now', [aCluster('b', { at: 1 })]), 'AssignClaim')).toEqual(['mine and b'])
  expect(targetsOf(given('never'), 'AssignClaim')).toEqual(['mine and a'])
})
