import { describe, expect, test } from 'vitest'
import { aCluster, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { conditionIn, planPass, targetsOf } from '#test/worlds/clusterpool/scenario.ts'
import { type PoolObjects, toObserved } from '../model/observed.ts'
import type { PoolRejection } from '../model/rejection.ts'
import { FIRST_RETRY_DELAY_MS, nextRejection } from './rejections.ts'

const pool = aPool({ size: 3 })
const read = (says: Partial<PoolObjects> = {}): PoolObjects => ({
  pool,
  clusters: [],
  claims: [],
  customizations: [],
  ...says,
})

/** Refused so many times, each time as soon as a cluster was tried again. */
const refusedTimes = (times: number, says: Partial<PoolObjects> = {}): PoolRejection => {
  let refusal = nextRejection(toObserved(read(says)), 'the quota says no', minutes(60))
  for (let time = 1; time < times; time += 1)
    refusal = nextRejection(toObserved(read({ ...says, refusal })), 'the quota says no', new Date(refusal.until))
  return refusal
}

describe('POOL-40: a pool without inventory whose clusters the API server refuses', () => {
  test('makes none until the pause is over, and says why and when it looks again', () => {
    const plan = planPass({ pool, refusal: refusedTimes(1), at: 60 })
    expect(targetsOf(plan, 'CreateCluster')).toEqual([])
    expect(plan.recheckAt).toEqual(minutes(61))
    expect(conditionIn(plan, 'Stalled')).toBe(
      'True/BrokenByConfiguration: the API server refuses its clusters: the quota says no',
    )
  })

  test('then tries one, whatever its size, and says the same as before', () => {
    const plan = planPass({ pool, refusal: refusedTimes(1), at: 61 })
    expect(targetsOf(plan, 'CreateCluster')).toHaveLength(1)
    expect(plan.recheckAt).toBeUndefined()
    expect(conditionIn(plan, 'Stalled')).toBe(
      'True/BrokenByConfiguration: the API server refuses its clusters: the quota says no',
    )
  })

  test('makes all others when one was taken', () => {
    const refusal = refusedTimes(2, { clusters: [aCluster('old', { pool })] })
    const clusters = [aCluster('old', { pool }), aCluster('taken', { pool, state: 'installing' })]
    const plan = planPass({ pool, refusal, clusters, at: 60 })
    expect(targetsOf(plan, 'CreateCluster')).toHaveLength(1)
    expect(conditionIn(plan, 'Stalled')).toBe('False/NotStalled: ')
  })

  test('tries at once with another customization for all', () => {
    const refusal = { ...refusedTimes(4), version: 'of an older customization' }
    expect(targetsOf(planPass({ pool, refusal, at: 60 }), 'CreateCluster')).toHaveLength(3)
  })

  test('waits twice as long each time, and never more than a quarter of an hour', () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((times) => {
      const before = times === 1 ? minutes(60).getTime() : refusedTimes(times - 1).until
      return (refusedTimes(times).until - before) / FIRST_RETRY_DELAY_MS
    })
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15])
  })

  test('takes several that are refused side by side for one refusal', () => {
    const first = refusedTimes(1)
    const second = nextRejection(toObserved(read({ refusal: first })), 'the webhook says no', minutes(60))
    expect(second).toEqual({ ...first, message: 'the webhook says no' })
  })
})
