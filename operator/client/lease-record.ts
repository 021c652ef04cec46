/** What a Lease says and what it lets others do. Pure; the algorithm is client-go's `leaderelection`. */
import { defineResource, type KubeObject } from '../model/resource.ts'

/** coordination.k8s.io/v1 LeaseSpec. Times are MicroTime. */
export interface LeaseSpec {
  /** '' or missing: the lease is free. */
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  /** How often the holder has changed. */
  readonly leaseTransitions?: number
}

export type Lease = KubeObject<LeaseSpec, never>

export const LEASES = defineResource<LeaseSpec>({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  scope: 'Namespaced',
  subresources: [],
})

/** A lease and since when, on our own monotonic clock in ms, it has looked like this. Clocks of others are not trusted. */
export interface Observation {
  readonly lease: Lease
  readonly since: number
}

/** Takes note of a lease that was just read or written. Only a change of what it says starts the holder's time again. */
export const observe = (before: Observation | undefined, lease: Lease, now: number): Observation => {
  const isSame =
    before !== undefined &&
    before.lease.spec.holderIdentity === lease.spec.holderIdentity &&
    before.lease.spec.renewTime === lease.spec.renewTime &&
    before.lease.spec.leaseTransitions === lease.spec.leaseTransitions
  return { lease, since: isSame ? before.since : now }
}

/** May another take it? When it has no holder, or when its holder has not renewed it for its duration while we watched. */
export const isFree = (observation: Observation | undefined, now: number): boolean => {
  if (observation === undefined) return true
  const { holderIdentity, leaseDurationSeconds = 0 } = observation.lease.spec
  return !holderIdentity || now >= observation.since + leaseDurationSeconds * 1000
}

/** The lease in our hands, from now on or still. */
export const acquired = (before: LeaseSpec | undefined, identity: string, seconds: number, now: Date): LeaseSpec => {
  const isStill = before?.holderIdentity === identity
  return {
    holderIdentity: identity,
    leaseDurationSeconds: seconds,
    acquireTime: isStill ? (before.acquireTime ?? microTime(now)) : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: (before?.leaseTransitions ?? 0) + (isStill || before === undefined ? 0 : 1),
  }
}

export const renewed = (spec: LeaseSpec, seconds: number, now: Date): LeaseSpec => ({
  ...spec,
  leaseDurationSeconds: seconds,
  renewTime: microTime(now),
})

/** Free at once. */
export const released = (spec: LeaseSpec, now: Date): LeaseSpec => ({
  ...spec,
  holderIdentity: '',
  leaseDurationSeconds: 1,
  acquireTime: microTime(now),
  renewTime: microTime(now),
})

/** Kubernetes' MicroTime: RFC 3339 with exactly six digits, any other number is refused. */
export const microTime = (moment: Date): string => moment.toISOString().replace('Z', '000Z')
