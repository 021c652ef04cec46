import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IMMEDIATELY, NEVER_PULSED, nextPulse, type PulseHistory, type ResourceState } from './decide.ts'

const SECOND = 1_000
const MINUTE = 60_000
const backoff = { notReady: 10 * SECOND, ready: 30 * MINUTE }

const facts = (change: Partial<ResourceState> = {}): ResourceState => ({
  generation: 1,
  deleting: false,
  ready: false,
  reference: 0,
  ...change,
})
const seen = (change: Partial<PulseHistory> = {}): PulseHistory => ({
  generation: 1,
  deleting: false,
  pulsedAt: undefined,
  ...change,
})

describe('a pulse is due at once', () => {
  // SENTINEL-1
  test('when no pulse of the resource was ever sent', () => {
    expect(nextPulse(NEVER_PULSED, facts(), backoff)).toEqual({ at: IMMEDIATELY, reason: 'New' })
  })
  // SENTINEL-2
  test('when its generation was not pulsed yet, even if it is ready and was reported a moment ago', () => {
    const changed = facts({ generation: 2, ready: true, reference: 99 })
    expect(nextPulse(seen({ pulsedAt: 99 }), changed, backoff)).toEqual({ at: IMMEDIATELY, reason: 'SpecChanged' })
  })
  // SENTINEL-3
  test('when its deletion was just asked for, and says so although the generation rose too', () => {
    expect(nextPulse(seen(), facts({ deleting: true, generation: 2 }), backoff)).toEqual({
      at: IMMEDIATELY,
      reason: 'Deleting',
    })
  })
})

describe('otherwise it waits for the backoff', () => {
  test('10 s after the last report while it is not ready', () => {
    expect(nextPulse(seen(), facts({ reference: 5_000 }), backoff)).toEqual({
      at: 15_000,
      reason: 'NotReadyBackoffExpired',
    })
  })
  test('30 min after the last report while it is ready', () => {
    expect(nextPulse(seen(), facts({ ready: true, reference: 5_000 }), backoff)).toEqual({
      at: 5_000 + 30 * MINUTE,
      reason: 'ReadyBackoffExpired',
    })
  })
  test('counted from the last pulse when no report came since', () => {
    expect(nextPulse(seen({ pulsedAt: 15_000 }), facts({ reference: 5_000 }), backoff).at).toBe(25_000)
  })
  test('while it is being deleted, at the pace of a resource that is not ready', () => {
    const deleting = facts({ deleting: true, generation: 2 })
    expect(nextPulse(seen({ deleting: true, generation: 2, pulsedAt: 3_000 }), deleting, backoff).at).toBe(13_000)
  })
})

// SENTINEL-4
test('a seen generation is never due before its backoff since report and pulse has passed', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.nat(1e9), fc.option(fc.nat(1e9), { nil: undefined }), (ready, reference, pulsedAt) => {
      const wait = ready ? backoff.ready : backoff.notReady
      const { at } = nextPulse(seen({ pulsedAt }), facts({ ready, reference }), backoff)
      expect(at).toBe(Math.max(reference, pulsedAt ?? reference) + wait)
    }),
  )
})
