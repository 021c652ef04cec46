/** Counts of a task's runs, and which of its resources fail or are being deleted: its status and its metrics are made from them. Its runs: runs/run-history.ts. */

import type { RunStatus } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { ReconcileEvent } from '../events/reconcile-event.ts'
import type { RunResult } from '../run/run.ts'
import { countByCause, type DeletionWait, deletionWaits, type StuckDeletion } from './stuck-deletions.ts'

/** A deletion that has waited for so long is stuck: ADAPTER-47. */
const STUCK_AFTER_MS = 300_000

export interface RunCounts {
  readonly processed: number
  readonly failed: number
  readonly skipped: number
}

export class TaskStats {
  #counts: RunCounts
  /** Why the last run failed, by id of the resource. */
  readonly #failing = new Map<string, { readonly reason: string; readonly message: string }>()
  /** Ids of the resources whose last run did all. */
  readonly #good = new Set<string>()
  /** Since when something is left of a resource in deletion, and what. */
  readonly #deleting = new Map<string, { readonly since: number; readonly waits: readonly DeletionWait[] }>()
  /** The last event about each of these, and when its run ended. */
  readonly #last = new Map<string, { readonly event: ReconcileEvent; readonly at: number }>()
  deadLetters: number

  /** @param before what earlier managers counted for this object */
  constructor(before: RunCounts & { readonly deadLetters: number }) {
    this.#counts = before
    this.deadLetters = before.deadLetters
  }

  /**
   * Notes how a run ended.
   * @returns how long the deletion took, in milliseconds, when it has come to its end with this run
   */
  recordRun(id: string, { trace, remaining, isReported, isDeleting }: RunResult, now: number): number | undefined {
    this.#count(trace.status)
    const [failure] = trace.failures
    if (failure === undefined) this.#failing.delete(id)
    else this.#failing.set(id, failure)
    if (trace.status === 'success') this.#good.add(id)
    else if (trace.status === 'failed') this.#good.delete(id)
    const before = this.#deleting.get(id)
    const isUnobserved = trace.mode === undefined && trace.status === 'failed'
    // A run that failed before it observed anything says nothing of what is left, but that the deletion waits.
    if (isUnobserved && !isDeleting) return undefined
    if (isUnobserved || ((trace.mode === 'delete' || isDeleting) && (remaining.length > 0 || !isReported))) {
      this.#deleting.set(id, { since: before?.since ?? now, waits: deletionWaits(trace, remaining) })
      return undefined
    }
    this.#deleting.delete(id)
    return before === undefined ? undefined : now - before.since
  }

  /** A run ended with an error, without an outcome. */
  recordAbortedRun(id: string, problem: string): void {
    this.#count('failed')
    this.#failing.set(id, { reason: 'Aborted', message: problem })
    this.#good.delete(id)
  }

  /** The run of an event has ended and is recorded. @param now milliseconds since the epoch */
  recordEvent(event: ReconcileEvent, now: number): void {
    const { id } = event.data
    if (this.isFailing(id) || this.isDeleting(id)) this.#last.set(id, { event, at: now })
    else this.#last.delete(id)
  }

  /** Of the resources that fail or are in deletion those without an event since the moment, by the last event of each. */
  unheardSince(moment: number): readonly ReconcileEvent[] {
    return [...this.#last.values()].filter(({ at }) => at <= moment).map(({ event }) => event)
  }

  /** It is gone, or not the task's any more. */
  forget(id: string): void {
    this.#failing.delete(id)
    this.#good.delete(id)
    this.#deleting.delete(id)
    this.#last.delete(id)
  }

  /** In whose words a server refuses the task, of every resource that it works on; undefined when any run succeeds or fails of something else. ADAPTER-136. */
  get forbidden(): string | undefined {
    const failures = [...this.#failing.values()]
    const isRefused = this.#good.size === 0 && failures.every(({ reason }) => reason === 'Forbidden')
    return isRefused ? failures.at(-1)?.message : undefined
  }

  isFailing(id: string): boolean {
    return this.#failing.has(id)
  }

  isDeleting(id: string): boolean {
    return this.#deleting.has(id)
  }

  /** @param now milliseconds since the epoch */
  summary(now: number) {
    return {
      ...this.#counts,
      failing: this.#failing.size,
      deleting: this.#deleting.size,
      stuck: this.#stuck(now).length,
      deadLetters: this.deadLetters,
      lastError: [...this.#failing.values()].at(-1)?.message,
    }
  }

  /** What deletions are stuck behind. @param now milliseconds since the epoch */
  stuck(now: number): readonly StuckDeletion[] {
    return countByCause(this.#stuck(now).flatMap(({ waits }) => waits))
  }

  #stuck(now: number) {
    return [...this.#deleting.values()].filter(({ since }) => now - since >= STUCK_AFTER_MS)
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

export type StatsSummary = ReturnType<TaskStats['summary']>
