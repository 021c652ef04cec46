import { describe, expect, test } from 'vitest'
import { aCluster, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { about, conditionIn, pass } from '#test/worlds/clusterpool/scenario.ts'
import { observe, type Read } from '../model/observed.ts'
import { FIRST_PAUSE, type Refusal, refusedAgain } from './refusals.ts'

const pool = aPool({ size: 3 })
const read = (says: Partial<Read> = {}): Read => ({ pool, clusters: [], claims: [], customizations: [], ...says })

/** Refused so many times, each time as soon as a cluster was tried again. */
const refusedTimes = (times: number, says: Partial<Read> = {}): Refusal => {
  let refusal = refusedAgain(observe(read(says)), 'the quota says no', minutes(60))
  for (let time = 1; time < times; time += 1)
    refusal = refusedAgain(observe(read({ ...says, refusal })), 'the quota says no', new Date(refusal.until))
  return refusal
}

describe('a pool without inventory whose clusters the API server refuses', () => {
  test('makes none until the pause is over, and says why and when it looks again', () => {
    const plan = pass({ pool, refusal: refusedTimes(1), at: 60 })
    expect(about(plan, 'CreateCluster')).toEqual([])
    expect(plan.lookAgainAt).toEqual(minutes(61))
    expect(conditionIn(plan, 'Stalled')).toBe(
      'True/BrokenByConfiguration: the API server refuses its clusters: the quota says no',
    )
  })

  test('then tries one, whatever its size, and says the same as before', () => {
    const plan = pass({ pool, refusal: refusedTimes(1), at: 61 })
    expect(about(plan, 'CreateCluster')).toHaveLength(1)
    expect(plan.lookAgainAt).toBeUndefined()
    expect(conditionIn(plan, 'Stalled')).toBe(
      'True/BrokenByConfiguration: the API server refuses its clusters: the quota says no',
    )
  })

  test('makes all others when one was taken', () => {
    const refusal = refusedTimes(2, { clusters: [aCluster('old', { pool })] })
    const clusters = [aCluster('old', { pool }), aCluster('taken', { pool, state: 'installing' })]
    const plan = pass({ pool, refusal, clusters, at: 60 })
    expect(about(plan, 'CreateCluster')).toHaveLength(1)
    expect(conditionIn(plan, 'Stalled')).toBe('False/NotStalled: ')
  })

  test('tries at once with another customization for all', () => {
    const refusal = { ...refusedTimes(4), version: 'of an older customization' }
    expect(about(pass({ pool, refusal, at: 60 }), 'CreateCluster')).toHaveLength(3)
  })

  test('waits twice as long each time, and never more than a quarter of an hour', () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((times) => {
      const before = times === 1 ? minutes(60).getTime() : refusedTimes(times - 1).until
      return (refusedTimes(times).until - before) / FIRST_PAUSE
    })
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15])
  })

  test('takes several that are refused side by side for one refusal', () => {
    const first = refusedTimes(1)
    const second = refusedAgain(observe(read({ refusal: first })), 'the webhook says no', minutes(60))
    expect(second).toEqual({ ...first, message: 'the webhook says no' })
  })
})
