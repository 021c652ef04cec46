import { describe, expect, test } from 'vitest'
import { BUCKETS, type BucketSettings, compareBucket } from './buckets.ts'

const { state, heartbeat } = BUCKETS

const found = (settings: BucketSettings, more: Partial<BucketSettings> = {}, usedBytes = 0) => ({
  ...settings,
  ...more,
  usedBytes,
})

// FLEET-18
describe('a bucket that is there', () => {
  test.each(Object.values(BUCKETS))('with the settings of $name is fine', (settings) => {
    expect(compareBucket(settings, found(settings))).toEqual({ verdict: 'Fine' })
  })

  test('is fine whichever way it says that there is no limit', () => {
    const unlimited = { ...state, maxBytes: -1 }
    expect(compareBucket(unlimited, found(unlimited, { maxBytes: 0 }))).toEqual({ verdict: 'Fine' })
  })

  test('is migrated when nothing is lost by it', () => {
    expect(compareBucket(heartbeat, found(heartbeat, { ttl: 0 }))).toEqual({
      verdict: 'Migrate',
      settings: heartbeat,
      changes: ['ttl: never → 90000'],
    })
    expect(compareBucket(state, found(state, { ttl: 1_000 }))).toEqual({
      verdict: 'Migrate',
      settings: state,
      changes: ['ttl: 1000 → never'],
    })
  })

  // FLEET-90
  test('without a limit gets one, above what it holds; another limit is its administrator’s', () => {
    expect(compareBucket(state, found(state, { maxBytes: -1 }))).toEqual({
      verdict: 'Migrate',
      settings: state,
      changes: [`maxBytes: no limit → ${state.maxBytes}`],
    })
    const large = 10 * state.maxBytes
    expect(compareBucket(state, found(state, { maxBytes: -1 }, large))).toMatchObject({
      settings: { ...state, maxBytes: 2 * large },
    })
    for (const maxBytes of [1_000, large])
      expect(compareBucket(state, found(state, { maxBytes }, 500))).toEqual({ verdict: 'Fine' })
  })

  test.each([
    [{ storage: 'memory' as const }, 'is in memory and must be in file'],
    [{ history: 5 }, 'keeps 5 values a key and should keep 1, so older values would be lost'],
  ])('is refused with a reason when something would be lost', (other, reason) => {
    expect(compareBucket(state, found(state, other))).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining(reason),
    })
  })

  test('is refused when its keys would begin to expire', () => {
    expect(compareBucket({ ...state, ttl: 10 }, found(state))).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining('its keys live for ever and should live 10 ms'),
    })
  })
})
