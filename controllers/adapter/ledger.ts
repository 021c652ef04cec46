/** What a task knows of its resources and of its runs so far: what its status, its metrics and its traces are made from. */
import type { RunResult } from './run.ts'
import type { RunStatus, Trace } from './trace.ts'

/** A deletion that has waited for so long, in milliseconds, is stuck. */
const STUCK = 300_000
/** Traces that are kept. */
const TRACES = 50

export interface Counts {
  readonly processed: number
  readonly failed: number
  readonly skipped: number
}

export class Ledger {
  #counts: Counts
  /** Why the last run failed, by id of the resource. */
  readonly #failing = new Map<string, string>()
  /** Since when something is left of a resource in deletion. */
  readonly #deleting = new Map<string, number>()
  readonly #traces: Trace[] = []
  deadLetters: number

  /** @param before what earlier managers counted for this object */
  constructor(before: Counts & { readonly deadLetters: number }) {
    this.#counts = before
    this.deadLetters = before.deadLetters
  }

  /**
   * Notes how a run ended.
   * @returns how long the deletion took, in milliseconds, when it has come to its end with this run
   */
  note(id: string, { trace, remaining, told }: RunResult, now: number): number | undefined {
    this.#count(trace.status)
    this.#traces.push(trace)
    if (this.#traces.length > TRACES) this.#traces.shift()
    const [failure] = trace.failures
    if (failure === undefined) this.#failing.delete(id)
    else this.#failing.set(id, failure.message)
    const since = this.#deleting.get(id)
    if (trace.mode === 'delete' && (remaining.length > 0 || !told)) {
      this.#deleting.set(id, since ?? now)
      return undefined
    }
    this.#deleting.delete(id)
    return since === undefined ? undefined : now - since
  }

  /** A run broke off without an outcome. */
  broke(id: string, problem: string): void {
    this.#count('failed')
    this.#failing.set(id, problem)
  }

  isFailing(id: string): boolean {
    return this.#failing.has(id)
  }

  isDeleting(id: string): boolean {
    return this.#deleting.has(id)
  }

  /** The last ones, the newest at the end. */
  get traces(): readonly Trace[] {
    return this.#traces
  }

  /** @param now milliseconds since the epoch */
  summary(now: number) {
    return {
      ...this.#counts,
      failing: this.#failing.size,
      deleting: this.#deleting.size,
      stuck: [...this.#deleting.values()].filter((since) => now - since >= STUCK).length,
      deadLetters: this.deadLetters,
      lastError: [...this.#failing.values()].at(-1),
    }
  }

  #count(status: RunStatus): void {
    const { processed, failed, skipped } = this.#counts
    this.#counts = {
      processed: processed + 1,
      failed: failed + (status === 'failed' ? 1 : 0),
      skipped: skipped + (status === 'skipped' ? 1 : 0),
    }
  }
}

export type Summary = ReturnType<Ledger['summary']>
