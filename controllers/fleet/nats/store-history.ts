/**
 * Whether the store of a bucket is still the one that was read. A server never takes a revision back and never tells watchers of a
 * purge, so both show only to those who remember what was there. FLEET-63, FLEET-64. Pure.
 */

/** The stream of a bucket at a moment. */
export interface StoreState {
  /** Of the oldest value that is there; all before it are gone. */
  readonly firstRevision: number
  /** Of the last write, be it there or not. */
  readonly lastRevision: number
  /** Values and markers of deletions. */
  readonly messages: number
}

export type StoreVerdict =
  | 'Same'
  /** Restored from a backup, or its last writes never came to the disk: revisions begin again at an earlier one. */
  | 'WentBack'
  /** Values are gone without a deletion. */
  | 'Purged'

export interface StoreKind {
  /** Its keys go by themselves after a while. */
  readonly expires: boolean
  /** A value that is gone is written again by the device that wrote it, so nothing is to be done about it. */
  readonly isSaidAgain: boolean
}

export class StoreHistory {
  readonly #kind: StoreKind
  #highest = 0
  #messages: number | undefined
  #suspected: number | undefined

  constructor(kind: StoreKind) {
    this.#kind = kind
  }

  /** The highest revision that was seen of it. */
  get highest(): number {
    return this.#highest
  }

  /** It is about to be read. @returns false when it went back since it was read the last time */
  begin({ lastRevision, messages }: StoreState): boolean {
    const isSame = lastRevision >= this.#highest
    this.#highest = lastRevision
    this.#messages = messages
    this.#suspected = undefined
    return isSame
  }

  /** A value of it was seen. */
  seen(revision: number): void {
    this.#highest = Math.max(this.#highest, revision)
  }

  /**
   * A look at it while it is watched.
   * @param asked The highest revision that was seen when the look was asked for: later ones may have come before its answer.
   * @param oldest The lowest revision of the values that the watch has shown.
   */
  evaluate(
    { firstRevision, lastRevision, messages }: StoreState,
    asked: number,
    oldest: number | undefined,
  ): StoreVerdict {
    if (lastRevision < asked) return 'WentBack'
    this.seen(lastRevision)
    if (this.#kind.isSaidAgain) return 'Same'
    // Every write leaves its key a message, be it a marker.
    const shrank = !this.#kind.expires && messages < (this.#messages ?? 0)
    this.#messages = messages
    // It may have been written again, and the watch is about to show that: only a second look is sure.
    const missing = oldest !== undefined && oldest < firstRevision ? oldest : undefined
    const isSure = missing !== undefined && missing === this.#suspected
    this.#suspected = missing
    return shrank || isSure ? 'Purged' : 'Same'
  }
}
