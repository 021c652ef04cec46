/** Where events come from, one interface for the API's queue and for JetStream. Delivery is at least once. */
import type { ReconcileEvent } from './reconcile-event.ts'

/** An event that was delivered to us, and to no other consumer for a while. */
export interface Delivery {
  readonly event: ReconcileEvent
  /** The event is done. Best effort: what is not acknowledged comes again. */
  acknowledge(): Promise<void>
  /** Keeps it hidden from others for longer. Best effort, as above. */
  extend(): Promise<void>
  /** It could not be done. It is delivered again after a pause that grows from so many milliseconds, or given up. Best effort, as above. */
  giveBack(delay: number): Promise<void>
  /** Gives it back at once, not worked on to the end: as if it had not been delivered. Best effort, as above. */
  release(): Promise<void>
}

/** A message that is no event of ours, and never will be. */
export interface DeadLetter {
  readonly problem: string
  /** As it came, shortened. */
  readonly text: string
}

export interface EventSource {
  /** Makes or finds the consumer group. @throws Error when the source can't be reached, or the signal's reason */
  open(signal: AbortSignal): Promise<void>
  /**
   * Takes up to so many events, waiting a while for the first.
   * @throws Error when the source can't be reached, or the signal's reason
   */
  take(max: number, signal: AbortSignal): Promise<readonly Delivery[]>
  /**
   * Removes the consumer group and what waits in it, if there is one.
   * @throws Error when the source can't be reached, or the signal's reason
   */
  remove(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface SourceOptions {
  /** The consumer group. */
  readonly consumer: string
  /** Plural: clusters. */
  readonly resourceType: string
  /** Milliseconds after which an unfinished event is given to another one. */
  readonly visibilityMs: number
  /** After so many deliveries that were not acknowledged an event becomes a dead letter: ADAPTER-22. */
  readonly maxDeliveries?: number
  /** A message has become a dead letter. */
  onDeadLetter(letter: DeadLetter): void
}

/** Characters of a dead letter that are kept. */
export const MAX_DEAD_LETTER_CHARS = 500

/** Deliveries of an event that were not acknowledged; then it is a dead letter. What was released does not count. ADAPTER-22. */
export const MAX_DELIVERIES = 10
