import { AbortScope } from '#lib/abort/abort-scope.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import { monotonic } from '../model/clock.ts'

import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'

import type { Api } from './api.ts'
import { isAlreadyExists, isConflict } from './errors.ts'
import type { LeaseOptions } from './lease-options.ts'
import { acquired, isFree, LEASES, type Lease, type Observation, observe, released, renewed } from './lease-record.ts'
import { ACQUIRE_JITTER, checkLeaseTimes } from './lease-times.ts'

/** The lease was lost: renewing failed for the renew deadline, or another process holds it. */
export class LeaseLostError extends errorOf(OPERATOR_ERRORS, 'LeaseLostError') {
  constructor(lease: string, why: string) {
    super(`lease ${lease} is lost: ${why}`)
  }
}

/** A process that stops must be gone soon; a lease that could not be released expires. */
const RELEASE_WITHIN = '1s'

/** The requests of one contender for one lease. No method throws. */
export class LeaderElector {
  readonly #options: LeaseOptions
  readonly #times: Readonly<ReturnType<typeof checkLeaseTimes>>
  /** What was last read or written, and since when the holder's time runs. */
  #seen: Observation | undefined
  /** When the last write of ours that succeeded was begun: others count from later. */
  #renewedAt = 0
  /** Whether what was asked for last may have been done without our knowing. */
  #isUnanswered = false

  /** @throws TypeError for times that can't work */
  constructor(options: LeaseOptions) {
    this.#options = options
    this.#times = checkLeaseTimes(options.times)
  }

  /** True when the lease is ours, false when the signal came first. */
  async acquire(): Promise<boolean> {
    const { clock, log, signal, random = Math.random } = this.#options
    while (!signal.aborted) {
      try {
        if (await this.#within(this.#times.renewDeadline, signal, (api) => this.#take(api))) return true
      } catch (error) {
        // To lose the race for a free lease is everyday life.
        const isRace = isConflict(error) || isAlreadyExists(error)
        if (!signal.aborted && !isRace) log.warn(`the lease can't be acquired, retrying: ${messageOf(error)}`)
      }
      await clock.sleep(this.#times.retryPeriod * (1 + ACQUIRE_JITTER * random()), signal)
    }
    await this.release()
    return false
  }

  /** Keeps it until the signal aborts (then undefined) or it is lost. */
  async renew(until: AbortSignal): Promise<LeaseLostError | undefined> {
    const { name, clock, log } = this.#options
    const { renewDeadline, retryPeriod } = this.#times
    const left = () => renewDeadline - (monotonic(clock) - this.#renewedAt)
    /** Whether the lease is as we last wrote it, as far as we know. */
    let isUntouched = true
    for (;;) {
      await clock.sleep(Math.max(0, Math.min(retryPeriod, left())), until)
      if (until.aborted) return undefined
      if (left() <= 0) return new LeaseLostError(name, `it was not renewed for ${renewDeadline / 1000} s`)
      try {
        const known = isUntouched ? this.#seen : undefined
        const isKept = await this.#within(left(), until, (api) =>
          known === undefined ? this.#take(api) : this.#renewUnread(api, known),
        )
        if (!isKept) return new LeaseLostError(name, `${this.#seen?.lease.spec.holderIdentity} holds it`)
        isUntouched = true
      } catch (error) {
        if (until.aborted) return undefined
        isUntouched = false
        if (!isConflict(error)) log.warn(`the lease can't be renewed, retrying: ${messageOf(error)}`)
      }
    }
  }

  /** Gives it back if it is ours, as far as that can be done quickly. RUNTIME-31. */
  async release(): Promise<void> {
    const { api, name, namespace, identity, clock, log } = this.#options
    if (!this.#isOurs() && !this.#isUnanswered) return
    try {
      const bounded = api.withLimits({ timeout: RELEASE_WITHIN })
      const lease = this.#isUnanswered ? await bounded.get(LEASES, name, namespace) : this.#seen?.lease
      if (lease?.spec.holderIdentity !== identity) return
      this.#saw(await bounded.replace(LEASES, { ...lease, spec: released(lease.spec, clock.now()) }))
      log.info('lease released')
    } catch (error) {
      if (!isConflict(error)) log.warn(`the lease can't be released, it will expire: ${messageOf(error)}`)
    }
  }

  #isOurs(): boolean {
    return this.#seen?.lease.spec.holderIdentity === this.#options.identity
  }

  #saw(lease: Lease): void {
    const { clock, onHolder } = this.#options
    const before = this.#seen?.lease.spec.holderIdentity
    this.#seen = observe(this.#seen, lease, monotonic(clock))
    const holder = lease.spec.holderIdentity ?? ''
    if (holder !== before) onHolder?.(holder)
  }

  get #seconds(): number {
    return Math.ceil(this.#times.leaseDuration / 1000)
  }

  /** Reads it and takes or renews it if it is free or ours. @returns whether it is ours now */
  async #take(api: Api): Promise<boolean> {
    const { name, namespace, identity, ownerReference, clock } = this.#options
    const current = await api.get(LEASES, name, namespace)
    if (current !== undefined) this.#saw(current)
    if (current !== undefined && !this.#isOurs() && !isFree(this.#seen, monotonic(clock))) return false

    const startedAt = monotonic(clock)
    const spec = acquired(current?.spec, identity, this.#seconds, clock.now())
    if (current !== undefined) {
      this.#saw(await api.replace(LEASES, { ...current, spec }))
    } else {
      const metadata = { name, namespace, ...(ownerReference && { ownerReferences: [ownerReference] }) }
      this.#saw(await api.create(LEASES, { metadata, spec }))
    }
    this.#renewedAt = startedAt
    return true
  }

  /** The usual renewal: a single request, refused when another client has touched the lease since we wrote it. */
  async #renewUnread(api: Api, { lease }: Observation): Promise<true> {
    const { clock } = this.#options
    const startedAt = monotonic(clock)
    this.#saw(await api.replace(LEASES, { ...lease, spec: renewed(lease.spec, this.#seconds, clock.now()) }))
    this.#renewedAt = startedAt
    return true
  }

  /** Runs one attempt, which fails when it takes longer than `limit` ms or the signal aborts. */
  async #within<T>(limit: number, until: AbortSignal, attempt: (bounded: Api) => Promise<T>): Promise<T> {
    const { api, clock } = this.#options
    using scope = new AbortScope(until)
    const giveUp = () => scope.abort(new Error(`no answer within ${Math.ceil(limit)} ms`))
    detach('waiting for an answer about a lease', clock.sleep(limit, scope.signal).then(giveUp))
    this.#isUnanswered = true
    const answer = await attempt(api.withLimits({ signal: scope.signal }))
    this.#isUnanswered = false
    return answer
  }
}
