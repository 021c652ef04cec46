/**
 * Resources whose last run could not be reported. Their events come again after a pause that grows up to five minutes, and the API may
 * take reports again long before: one of them is tried every few seconds, and when any run is reported, all of them run. ADAPTER-22.
 */
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { type ExponentialBackoff, exponentialDelay } from '#operator/model/outcome.ts'
import { WakeSignal } from '#operator/model/wake-signal.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'

/** Between tries while no run is reported, whichever resource's, in milliseconds. */
const TRIAL: ExponentialBackoff = { initial: 5_000, factor: 2, max: 30_000 }
/** Of a resource whose runs are not reported while those of others are. */
const REFUSED: ExponentialBackoff = { initial: 5_000, factor: 2, max: 300_000 }
/** Longer than all deliveries of an event last, in milliseconds: what could not be reported by then comes with the next event. */
const MAX_AGE_MS = 3_600_000

interface Unreported {
  event: ReconcileEvent
  readonly since: number
  /** How often it was run because another one had been reported, in vain. */
  refusals: number
  /** Not before this does it run again by itself, in milliseconds of the monotonic clock. */
  notBefore: number
}

export class UnreportedRuns {
  readonly #clock: Clock
  readonly #runAgain: (event: ReconcileEvent) => void
  readonly #added: WakeSignal
  /** By id of the resource; the one that was tried last is the last. */
  readonly #unreported = new Map<string, Unreported>()
  /** Tries since a run was reported. */
  #trials = 0

  constructor(clock: Clock, runAgain: (event: ReconcileEvent) => void) {
    this.#clock = clock
    this.#runAgain = runAgain
    this.#added = new WakeSignal(clock)
  }

  /** A run has ended. @param isReported the API has its report */
  record(event: ReconcileEvent, isReported: boolean): void {
    const id = event.data.id
    const now = monotonic(this.#clock)
    if (!isReported) {
      const known = this.#unreported.get(id)
      if (known === undefined) this.#unreported.set(id, { event, since: now, refusals: 0, notBefore: now })
      else known.event = event
      this.#added.wake()
      return
    }
    this.#unreported.delete(id)
    this.#trials = 0
    for (const one of this.#unreported.values()) if (one.notBefore <= now) this.#runForOther(one, now)
  }

  #runForOther(one: Unreported, now: number): void {
    one.refusals += 1
    one.notBefore = now + exponentialDelay(REFUSED, one.refusals)
    this.#runAgain(one.event)
  }

  /** Tries them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#unreported.size === 0) await this.#added.wait(MAX_AGE_MS, signal)
      this.#trials += 1
      await this.#clock.sleep(exponentialDelay(TRIAL, this.#trials), signal)
      if (!signal.aborted) this.#tryNext()
    }
  }

  #tryNext(): void {
    const now = monotonic(this.#clock)
    for (const [id, { since }] of this.#unreported) if (since < now - MAX_AGE_MS) this.#unreported.delete(id)
    const next = [...this.#unreported].find(([, { notBefore }]) => notBefore <= now)
    if (next === undefined) return
    const [id, unreported] = next
    this.#unreported.delete(id)
    this.#unreported.set(id, unreported)
    if (unreported.refusals > 0) this.#runForOther(unreported, now)
    else this.#runAgain(unreported.event)
  }
}
