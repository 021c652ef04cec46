/**
 * Entries that say that they are later than what is wanted, and that no key of this operator has signed. Beside an operator of a release
 * that signs nothing, one whose watch is behind sees such an entry of it, and would take it back: so each waits, by which time the watch
 * has come up, and two that disagree for longer write so seldom. FLEET-106. Pure.
 */
import type { PlacementState } from './placement-state.ts'

/** So many intervals end before an entry is written over: the first may end at once. */
const INTERVALS = 2

export class DisputedEntries {
  /** The intervals for which each key has been disputed: what is written there meanwhile makes it wait no longer. */
  readonly #waits = new Map<PlacementState, number>()

  /** Whether the key has waited for long enough; it waits from now on, if it did not. */
  hasWaited(state: PlacementState): boolean {
    const intervals = this.#waits.get(state) ?? 0
    this.#waits.set(state, intervals)
    return intervals >= INTERVALS
  }

  /** It is disputed no longer. */
  delete(state: PlacementState): void {
    this.#waits.delete(state)
  }

  /** An interval has ended. @returns those that have waited for long enough */
  endInterval(): readonly PlacementState[] {
    for (const [state, intervals] of this.#waits) this.#waits.set(state, intervals + 1)
    return [...this.#waits].flatMap(([state, intervals]) => (intervals >= INTERVALS ? [state] : []))
  }
}
