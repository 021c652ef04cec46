/** Asks again while HTTP services have something left to do, a workload has no pod, or a quota is used up: nothing of that is watched. */
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { type Backoff, backoffDelay } from '#operator/model/outcome.ts'

const POLL_INTERVAL_MS = 2_000
const MAX_POLL_INTERVAL_MS = 30_000
/** CLUSTER-22: many clusters may wait for one quota, and a person may have to raise it. */
const QUOTA_BACKOFF: Backoff = { initial: 2_000, factor: 2, max: 300_000, jitter: 0.2 }

/** CLUSTER-95: as often as a Sentinel pulses what is not Ready. */
const POD_INTERVAL_MS = 10_000

/** What is long in the making is asked for less often: after a tenth of the time that it has taken. ADAPTER-102. Milliseconds. */
export const pollInterval = (elapsedMs: number): number =>
  Math.min(Math.max(elapsedMs / 10, POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS)

/** @param refusals in a row, from 1 on @param random in [0, 1) @returns milliseconds */
export const quotaPollInterval = (refusals: number, random: number): number =>
  backoffDelay(QUOTA_BACKOFF, refusals, random)

/** What a run has left to do; `pods`: a workload has none that runs; `quota`: it was refused because one is used up. */
export type LeftWork = 'deletion' | 'work' | 'pods' | 'quota' | 'nothing'

export class ServicePolls {
  readonly #clock: Clock
  /** Since when something is left to do for a resource. */
  readonly #since = new Map<string, number>()
  /** How often in a row a quota was used up. */
  readonly #refusals = new Map<string, number>()
  readonly #waiting = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param left what a run of the resource has found
   * @returns true when it is time for the next run; false when none is needed, another call waits for it, or the signal aborts
   */
  async wait(id: string, left: LeftWork, signal: AbortSignal): Promise<boolean> {
    if (left === 'nothing') this.#since.delete(id)
    if (left !== 'quota') this.#refusals.delete(id)
    if (left === 'nothing' || this.#waiting.has(id)) return false
    this.#waiting.add(id)
    await this.#clock.sleep(this.#interval(id, left), signal)
    this.#waiting.delete(id)
    return !signal.aborted
  }

  #interval(id: string, left: LeftWork): number {
    const now = monotonic(this.#clock)
    const since = this.#since.get(id) ?? now
    this.#since.set(id, since)
    // ADAPTER-56: a deletion is observed steadily.
    if (left === 'deletion') return POLL_INTERVAL_MS
    if (left === 'pods') return Math.max(POD_INTERVAL_MS, pollInterval(now - since))
    if (left !== 'quota') return pollInterval(now - since)
    const refusals = (this.#refusals.get(id) ?? 0) + 1
    this.#refusals.set(id, refusals)
    return quotaPollInterval(refusals, Math.random())
  }
}
