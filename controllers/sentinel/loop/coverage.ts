/**
 * How much of the shard is known, and until when everything that was due has been pulsed. The latter is written to the
 * status, where the next Sentinel of the shard begins (SENTINEL-16). Times are milliseconds since the epoch.
 */
export class Coverage {
  #isComplete = false
  #isLive = false
  #pollBegan = 0
  #inherited: number | undefined
  #until: number | undefined
  #workSince: number | undefined
  #workMs = 0

  /** The whole shard was read once with the present spec. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The schedule is true at any moment, not only when a poll has just told. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Until when everything due has been pulsed; undefined when that was never so. */
  get until(): number | undefined {
    return this.#until
  }

  /** Until when an earlier Sentinel watched the shard; undefined once this one has read all of it. */
  get inherited(): number | undefined {
    return this.#isComplete ? undefined : this.#inherited
  }

  inherit(until: number | undefined): void {
    this.#inherited = until
    this.#until = until
  }

  /** An earlier Sentinel watched other resources than those that are read from now on. */
  dropInherited(): void {
    this.#inherited = undefined
  }

  /** The shard is read from the start. */
  restart(): void {
    this.#isLive = false
    this.#isComplete = false
  }

  /** The source is lost: what is known ages. */
  interrupt(): void {
    this.#isLive = false
  }

  pollBegan(now: number): void {
    this.#pollBegan = now
  }

  sweepEnded(): void {
    this.#isComplete = true
  }

  /** Everything is told up to now. @param follows the source goes on telling every change */
  upToDate(follows: boolean): void {
    this.#isLive = this.#isComplete && follows
  }

  /** Everything that was due has been pulsed. */
  everythingPulsed(now: number): void {
    this.#until = this.#isLive ? now : this.#pollBegan
  }

  /** A stream told of a change: from now on until everything is pulsed there is work. */
  workBegan(now: number): void {
    this.#workSince ??= now
  }

  workEnded(now: number): void {
    if (this.#workSince !== undefined) this.#workMs += Math.max(0, now - this.#workSince)
    this.#workSince = undefined
  }

  /** Seconds in which there was work since this was last asked, the present included. */
  takeWorkSeconds(now: number): number {
    const isWorking = this.#workSince !== undefined
    this.workEnded(now)
    if (isWorking) this.#workSince = now
    const seconds = this.#workMs / 1_000
    this.#workMs = 0
    return seconds
  }

  /** Seconds since the poll began; never negative, whatever the clock does. */
  pollSeconds(now: number): number {
    return Math.max(0, now - this.#pollBegan) / 1_000
  }

  /** Whether a live shard is to be counted as polled again: once an interval, and after the clock was set back. */
  isPollDue(now: number, pollInterval: number): boolean {
    const elapsed = now - this.#pollBegan
    return this.#isLive && (elapsed >= pollInterval || elapsed < 0)
  }
}
