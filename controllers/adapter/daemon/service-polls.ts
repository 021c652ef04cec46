/** Asks HTTP services again while they have something left to do: nothing there can be watched. */
import { type Clock, monotonic } from '#operator/model/clock.ts'

const POLL_INTERVAL_MS = 2_000
const MAX_POLL_INTERVAL_MS = 30_000

/** What is long in the making is asked for less often: after a tenth of the time that it has taken. ADAPTER-102. Milliseconds. */
export const pollInterval = (elapsedMs: number): number =>
  Math.min(Math.max(elapsedMs / 10, POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS)

export class ServicePolls {
  readonly #clock: Clock
  /** Since when something is left to do for a resource. */
  readonly #since = new Map<string, number>()
  readonly #waiting = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param left what a run of the resource has found
   * @returns true when it is time for the next run; false when none is needed, another call waits for it, or the signal aborts
   */
  async wait(id: string, left: 'deletion' | 'work' | 'nothing', signal: AbortSignal): Promise<boolean> {
    if (left === 'nothing') this.#since.delete(id)
    if (left === 'nothing' || this.#waiting.has(id)) return false
    const now = monotonic(this.#clock)
    const since = this.#since.get(id) ?? now
    this.#since.set(id, since)
    this.#waiting.add(id)
    // ADAPTER-56: a deletion is observed steadily.
    await this.#clock.sleep(left === 'deletion' ? POLL_INTERVAL_MS : pollInterval(now - since), signal)
    this.#waiting.delete(id)
    return !signal.aborted
  }
}
