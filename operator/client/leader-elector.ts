import { AbortScope } from '#lib/abort/abort-scope.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { detach } from '#lib/process/detach.ts'
import { monotonic } from '../model/clock.ts'

import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'

import type { Api } from './api.ts'
import { isAlreadyExists, isConflict, messageOf } from './errors.ts'
import type { LeaseOptions } from './lease-options.ts'
import { acquired, isFree, LEASES, type Lease, type Observation, observe, released, renewed } from './lease-record.ts'
import { ACQUIRE_JITTER, checkLeaseTimes } from './lease-times.ts'

/** The lease was lost: renewing failed for the renew deadline, or another process holds it. */
export class LeaseLostError extends errorOf(OPERATOR_ERRORS, 'LeaseLostError') {
  constructor(lease: string, why: string) {
    super(`lease ${lease} is lost: ${why}`)
  }
}

/** The requests of one contender for one lease. None of them throws. */
export interface LeaderElector {
  /** True when it is ours, false when the signal came first. */
  acquire(): Promise<boolean>
  /** Keeps it until the signal aborts (then undefined) or it is lost. */
  renew(until: AbortSignal): Promise<LeaseLostError | undefined>
  /** Gives it back if it is ours, as far as that can be done quickly. */
  release(): Promise<void>
}

/** A process that stops must be gone soon; a lease that could not be released expires. */
const RELEASE_WITHIN = '1s'

export const createLeaderElector = (options: LeaseOptions): LeaderElector => {
  const { api, name, namespace, identity, ownerReference, onHolder, clock, log, signal, random = Math.random } = options
  const { leaseDuration, renewDeadline, retryPeriod } = checkLeaseTimes(options.times)
  const seconds = Math.ceil(leaseDuration / 1000)
  /** What was last read or written, and since when the holder's time runs. */
  let seen: Observation | undefined
  /** When the last write of ours that succeeded was begun: others count from later. */
  let renewedAt = 0
  /** Whether what was asked for last may have been done without our knowing. */
  let isUnanswered = false

  const saw = (lease: Lease): void => {
    const before = seen?.lease.spec.holderIdentity
    seen = observe(seen, lease, monotonic(clock))
    const holder = lease.spec.holderIdentity ?? ''
    if (holder !== before) onHolder?.(holder)
  }

  const isOurs = (): boolean => seen?.lease.spec.holderIdentity === identity

  /** Reads it and takes or renews it if it is free or ours. @returns whether it is ours now */
  const take = async (bounded: Api): Promise<boolean> => {
    const current = await bounded.get(LEASES, name, namespace)
    if (current !== undefined) saw(current)
    if (current !== undefined && !isOurs() && !isFree(seen, monotonic(clock))) return false

    const startedAt = monotonic(clock)
    const spec = acquired(current?.spec, identity, seconds, clock.now())
    if (current !== undefined) {
      saw(await bounded.replace(LEASES, { ...current, spec }))
    } else {
      const metadata = { name, namespace, ...(ownerReference && { ownerReferences: [ownerReference] }) }
      saw(await bounded.create(LEASES, { metadata, spec }))
    }
    renewedAt = startedAt
    return true
  }

  /** The usual renewal: a single request, refused when another client has touched the lease since we wrote it. */
  const renewUnread = async (bounded: Api, { lease }: Observation): Promise<true> => {
    const startedAt = monotonic(clock)
    saw(await bounded.replace(LEASES, { ...lease, spec: renewed(lease.spec, seconds, clock.now()) }))
    renewedAt = startedAt
    return true
  }

  /** Runs one attempt, which fails when it takes longer than `limit` ms or the signal aborts. */
  const within = async <T>(limit: number, until: AbortSignal, attempt: (bounded: Api) => Promise<T>): Promise<T> => {
    using scope = new AbortScope(until)
    const giveUp = () => scope.abort(new Error(`no answer within ${Math.ceil(limit)} ms`))
    detach('waiting for an answer about a lease', clock.sleep(limit, scope.signal).then(giveUp))
    isUnanswered = true
    const answer = await attempt(api.withLimits({ signal: scope.signal }))
    isUnanswered = false
    return answer
  }

  // RUNTIME-31
  const release = async (): Promise<void> => {
    if (!isOurs() && !isUnanswered) return
    try {
      const bounded = api.withLimits({ timeout: RELEASE_WITHIN })
      const lease = isUnanswered ? await bounded.get(LEASES, name, namespace) : seen?.lease
      if (lease?.spec.holderIdentity !== identity) return
      saw(await bounded.replace(LEASES, { ...lease, spec: released(lease.spec, clock.now()) }))
      log.info('lease released')
    } catch (error) {
      if (!isConflict(error)) log.warn(`the lease can't be released, it will expire: ${messageOf(error)}`)
    }
  }

  return {
    async acquire() {
      while (!signal.aborted) {
        try {
          if (await within(renewDeadline, signal, take)) return true
        } catch (error) {
          // To lose the race for a free lease is everyday life.
          const isRace = isConflict(error) || isAlreadyExists(error)
          if (!signal.aborted && !isRace) log.warn(`the lease can't be acquired, retrying: ${messageOf(error)}`)
        }
        await clock.sleep(retryPeriod * (1 + ACQUIRE_JITTER * random()), signal)
      }
      await release()
      return false
    },

    async renew(until) {
      const left = () => renewDeadline - (monotonic(clock) - renewedAt)
      /** Whether the lease is as we last wrote it, as far as we know. */
      let isUntouched = true
      for (;;) {
        await clock.sleep(Math.max(0, Math.min(retryPeriod, left())), until)
        if (until.aborted) return undefined
        if (left() <= 0) return new LeaseLostError(name, `it was not renewed for ${renewDeadline / 1000} s`)
        try {
          const known = isUntouched ? seen : undefined
          const isKept = await within(left(), until, (bounded) =>
            known === undefined ? take(bounded) : renewUnread(bounded, known),
          )
          if (!isKept) return new LeaseLostError(name, `${seen?.lease.spec.holderIdentity} holds it`)
          isUntouched = true
        } catch (error) {
          if (until.aborted) return undefined
          isUntouched = false
          if (!isConflict(error)) log.warn(`the lease can't be renewed, retrying: ${messageOf(error)}`)
        }
      }
    },

    release,
  }
}
