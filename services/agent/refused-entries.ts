/**
 * Entries that are not the fleet operator's, under keys of which the device has nothing. What opens NATS can write any number of them,
 * so of each no more is kept than a report, and of most of them nothing. AGENT-52.
 */
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { evaluateEntry } from './evaluate-entry.ts'
import type { StateReporter } from './nats/state-reporter.ts'
import { toState, UNKNOWN_ENTRY } from './placement-state.ts'

/** Refused entries that are reported at one time. */
export const MAX_REPORTED = 100

export interface RefusedEntriesOptions {
  readonly reports: Pick<StateReporter, 'report' | 'clear'>
  readonly clock: Clock
  readonly log: Logger
}

export class RefusedEntries {
  readonly #options: RefusedEntriesOptions
  /** By their keys, with a mark of the entry that was refused last. */
  readonly #reported = new Map<string, symbol>()
  #unreported = 0

  constructor(options: RefusedEntriesOptions) {
    this.#options = options
  }

  /** All entries are read from the beginning. */
  startReading(): void {
    this.#unreported = 0
  }

  /** All entries were read. */
  finishReading(): void {
    if (this.#unreported > 0)
      this.#options.log.warn('more entries are not taken than are reported', {
        reported: this.#reported.size,
        unreported: this.#unreported,
      })
  }

  /** @param problem why it is not known to be the fleet operator's */
  refuse(key: string, bytes: Uint8Array, problem: string): void {
    const { reports, clock, log } = this.#options
    if (!this.#reported.has(key) && this.#reported.size >= MAX_REPORTED) {
      this.#unreported += 1
      return
    }
    this.#reported.set(key, Symbol(key))
    log.warn('an entry is not taken', { key, reason: problem })
    const verdict = evaluateEntry(bytes, undefined, undefined, problem)
    const answered = (verdict.verdict === 'Refuse' && verdict.answered) || UNKNOWN_ENTRY
    const state = { answered, phase: 'Failed', message: problem, isHeld: false, isUnverified: true } as const
    reports.report(key, toState(state, clock.now()), answered.generation)
  }

  /** Another tells of the key from now on. */
  release(key: string): void {
    this.#reported.delete(key)
  }

  /** Its key was deleted. Until its report is gone, too, it counts. @returns when that is so, or the signal aborts */
  async delete(key: string, signal: AbortSignal): Promise<void> {
    const refused = this.#reported.get(key)
    if (refused === undefined) return
    await this.#options.reports.clear(key, signal)
    if (this.#reported.get(key) === refused) this.#reported.delete(key)
  }
}
