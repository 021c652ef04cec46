import { describe, expect, test } from 'vitest'
import { BUCKETS, compareBucket } from './buckets.ts'

const { state, heartbeat } = BUCKETS

// FLEET-18
describe('a bucket that is there', () => {
  test.each(Object.values(BUCKETS))('with the settings of $name is fine', (settings) => {
    expect(compareBucket(settings, settings)).toEqual({ verdict: 'Fine' })
  })

  test('is fine whichever way it says that there is no limit', () => {
    expect(compareBucket(state, { ...state, maxBytes: 0 })).toEqual({ verdict: 'Fine' })
  })

  test('is migrated when nothing is lost by it', () => {
    expect(compareBucket(heartbeat, { ...heartbeat, ttl: 0, markerTtl: 0 })).toEqual({
      verdict: 'Migrate',
      changes: ['ttl: never → 90000', 'markerTtl: none → 90000'],
    })
    expect(compareBucket(state, { ...state, ttl: 1_000, maxBytes: 5_000 })).toEqual({
      verdict: 'Migrate',
      changes: ['ttl: 1000 → never', 'maxBytes: 5000 → no limit'],
    })
  })

  test.each([
    [{ ...state, storage: 'memory' as const }, 'is in memory and must be in file'],
    [{ ...state, history: 5 }, 'keeps 5 values a key and should keep 1, so older values would be lost'],
  ])('is refused with a reason when something would be lost', (found, reason) => {
    expect(compareBucket(state, found)).toEqual({ verdict: 'Refuse', reason: expect.stringContaining(reason) })
  })

  test('is refused when it would get a limit that it never had', () => {
    expect(compareBucket({ ...state, maxBytes: 10 }, state)).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining('may hold no limit bytes and should hold 10'),
    })
    expect(compareBucket({ ...state, ttl: 10 }, state)).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining('its keys live for ever and should live 10 ms'),
    })
  })
})
