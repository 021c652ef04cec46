/** What a source tells, in the order in which it is true. Items are not judged yet. */
export type SourceChange =
  /** A look begins: at the whole shard, or at what may be due. */
  | { readonly kind: 'pollBegan'; readonly isSweep: boolean }
  /** These are so now. */
  | { readonly kind: 'items'; readonly items: readonly unknown[] }
  /** This one is gone, or has left the selection. */
  | { readonly kind: 'deleted'; readonly id: string }
  /** The whole shard was told: what was not is gone, unless pages may have shifted meanwhile (`exact` is false). */
  | { readonly kind: 'sweepEnded'; readonly isExact: boolean }
  /** Everything is told up to now, although nothing may have changed. */
  | { readonly kind: 'upToDate' }

/**
 * Where resources come from. One contract for every way (test/integration/sentinel/sources.test.ts):
 * a look at the whole shard comes first and again every `SWEEP_EVERY`; `kind` says when decisions may be made.
 */
export interface Source {
  /** Watch: facts are always true, so time alone makes a pulse due. Poll: they are true when told, so pulses are decided then. */
  readonly kind: 'Watch' | 'Poll'
  /**
   * Runs until the signal aborts; then it throws the signal's reason. After a HyperFleetError it may be called again and goes on
   * where it was, if it can.
   */
  changes(signal: AbortSignal): AsyncIterable<SourceChange>
}

/** How often the whole shard is read, in milliseconds (SENTINEL-20): the safety net under streams and due-only queries. */
export const SWEEP_INTERVAL_MS = 600_000
