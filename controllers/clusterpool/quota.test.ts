/** POOL-70: clusters of a pool whose installation waits for a quota. */
import { expect, test } from 'vitest'
import { aClaim, aCluster, aPool } from '#test/worlds/clusterpool/builders.ts'
import { conditionIn, planPass, targetsOf } from '#test/worlds/clusterpool/scenario.ts'

const pool = aPool({ size: 4, runningCount: 4 })
const waits = aCluster('b', { state: 'installing', awaitsQuota: 'Cloud: 2 of 2 clusters; tried again' })

test('POOL-70: while one waits the pool says so in the provider’s words, keeps it, and makes no further one, for claims neither', () => {
  const plan = planPass({ pool, clusters: [aCluster('a'), waits], claims: [aClaim('one'), aClaim('two', { at: 1 })] })
  expect(conditionIn(plan, 'CapacityAvailable')).toBe('False/QuotaExceeded: Cloud: 2 of 2 clusters; tried again')
  expect(conditionIn(plan, 'Ready')).toContain('False/QuotaExceeded: ')
  expect(targetsOf(plan, 'CreateCluster')).toEqual([])
  expect(targetsOf(plan, 'DeleteCluster')).toEqual([])
  expect(targetsOf(plan, 'AssignClaim')).toEqual(['one and a'])
})

test('POOL-70: broken clusters go meanwhile: that makes room', () => {
  const clusters = [waits, aCluster('c', { state: 'broken' })]
  expect(targetsOf(planPass({ pool, clusters }), 'DeleteCluster')).toEqual(['c'])
})

test('POOL-70: when there is room again the pool is filled on', () => {
  const plan = planPass({ pool, clusters: [aCluster('a'), aCluster('b', { state: 'installing' })] })
  expect(conditionIn(plan, 'CapacityAvailable')).toContain('True/Available')
  expect(targetsOf(plan, 'CreateCluster')).toHaveLength(2)
})
