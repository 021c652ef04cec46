import { expect, test } from 'vitest'
import { acquired, isFree, type Lease, type LeaseSpec, microTime, observe, released } from './lease-record.ts'

const lease = (spec: LeaseSpec): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'l', namespace: 'n', uid: 'u', resourceVersion: '1' },
  spec,
})
const now = new Date('2026-01-01T00:00:00.123Z')
const held: LeaseSpec = {
  holderIdentity: 'a',
  leaseDurationSeconds: 15,
  renewTime: 't1',
  acquireTime: 't0',
  leaseTransitions: 2,
}

test('a held lease is free only when we watched it unchanged for its duration, whatever its own times say', () => {
  const first = observe(undefined, lease(held), 1_000)
  expect(isFree(first, 15_999)).toBe(false)
  expect(isFree(first, 16_000)).toBe(true)
  const same = observe(first, lease(held), 9_000)
  expect(isFree(same, 16_000)).toBe(true)
  const renewed = observe(same, lease({ ...held, renewTime: 't2' }), 9_000)
  expect(isFree(renewed, 23_999)).toBe(false)
})

test('a lease without a holder is free at once', () => {
  expect(isFree(undefined, 0)).toBe(true)
  expect(isFree(observe(undefined, lease(released(held, now)), 0), 0)).toBe(true)
  expect(isFree(observe(undefined, lease({}), 0), 0)).toBe(true)
})

test('taking it from another counts a transition, taking it again ourselves does not', () => {
  expect(acquired(held, 'b', 15, now)).toEqual({
    holderIdentity: 'b',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.123000Z',
    renewTime: '2026-01-01T00:00:00.123000Z',
    leaseTransitions: 3,
  })
  expect(acquired(held, 'a', 15, now)).toMatchObject({ acquireTime: 't0', leaseTransitions: 2 })
  expect(acquired(undefined, 'a', 15, now)).toMatchObject({ leaseTransitions: 0 })
})

test('MicroTime has exactly six digits', () => {
  expect(microTime(new Date('2026-01-01T00:00:00Z'))).toBe('2026-01-01T00:00:00.000000Z')
})
