import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PermanentError, TemporaryError } from './errors.ts'
import { backoffDelay, decideOutcome, type Limits } from './outcome.ts'

const limits: Limits = {
  errors: 'temporary',
  retries: Number.POSITIVE_INFINITY,
  timeout: Number.POSITIVE_INFINITY,
  backoff: { initial: 1000, factor: 2, max: 60_000, jitter: 0 },
}
const moment = { now: 100_000, random: 0.5 }
const first = { failures: 0, startedAt: 100_000 }
const error = new Error('broken')

describe('the outcome of a call', () => {
  it.each([
    ['returns', { requeueAfter: undefined }, {}, { kind: 'success' }],
    ['waits', { requeueAfter: 5000 }, {}, { kind: 'requeue', delay: 5000 }],
    ['throws', { error }, {}, { kind: 'temporary', delay: 1000, error }],
    [
      'throws, which it calls permanent',
      { error },
      { errors: 'permanent' },
      { kind: 'permanent', error, reason: 'Failed' },
    ],
    ['throws, which it calls ignored', { error }, { errors: 'ignored' }, { kind: 'ignored', error }],
  ] as const)('that %s', (_, ended, given, outcome) => {
    expect(decideOutcome(ended, first, { ...limits, ...given }, moment)).toEqual(outcome)
  })

  // RUNTIME-4
  it('a TemporaryError is temporary whatever plain errors are, with its own delay', () => {
    const busy = new TemporaryError('busy', { delay: '30s' })
    expect(decideOutcome({ error: busy }, first, { ...limits, errors: 'ignored' }, moment)).toEqual({
      kind: 'temporary',
      delay: 30_000,
      error: busy,
    })
  })

  it('a PermanentError brings its reason', () => {
    const never = new PermanentError('never', { reason: 'Impossible' })
    expect(decideOutcome({ error: never }, first, limits, moment)).toMatchObject({ reason: 'Impossible' })
  })

  it('something that is no Error is told as one', () => {
    expect(decideOutcome({ error: 'text' }, first, limits, moment)).toMatchObject({ error: new Error('text') })
  })

  it.each([
    ['the last call of three', { retries: 3 }, { failures: 2, startedAt: 100_000 }, 'permanent'],
    ['the second call of three', { retries: 3 }, { failures: 1, startedAt: 100_000 }, 'temporary'],
    ['a next call just in time', { timeout: 2001 }, { failures: 0, startedAt: 99_000 }, 'temporary'],
    ['a next call that would be too late', { timeout: 2000 }, { failures: 0, startedAt: 99_000 }, 'permanent'],
  ] as const)('looks ahead: %s', (_, given, attempt, kind) => {
    expect(decideOutcome({ error }, attempt, { ...limits, ...given }, moment).kind).toBe(kind)
  })

  // RUNTIME-3
  it('waiting is limited by the timeout and not by the retries', () => {
    const few = { ...limits, retries: 1, timeout: 10_000 }
    expect(decideOutcome({ requeueAfter: 5000 }, first, few, moment).kind).toBe('requeue')
    expect(decideOutcome({ requeueAfter: 10_000 }, first, few, moment)).toMatchObject({ reason: 'TimedOut' })
  })

  it('giving up keeps the error as its cause', () => {
    const outcome = decideOutcome({ error }, first, { ...limits, retries: 1 }, moment)
    expect(outcome).toMatchObject({
      reason: 'RetriesExhausted',
      error: { message: 'gave up after 1 tries: broken', cause: error },
    })
  })
})

describe('the backoff', () => {
  it('doubles to its maximum', () => {
    expect([1, 2, 3, 7, 50].map((failures) => backoffDelay(limits.backoff, failures, 0.5))).toEqual([
      1000, 2000, 4000, 60_000, 60_000,
    ])
  })

  it('differs by the jitter at most, in both directions', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const exact = backoffDelay(limits.backoff, failures, 0.5)
          const delay = backoffDelay({ ...limits.backoff, jitter: 0.2 }, failures, random)
          expect(Math.abs(delay - exact)).toBeLessThanOrEqual(exact * 0.2 + 1)
        },
      ),
    )
    const delays = [0, 0.25, 0.75].map((random) => backoffDelay({ ...limits.backoff, jitter: 0.2 }, 1, random))
    expect(delays).toEqual([800, 900, 1100])
  })
})
