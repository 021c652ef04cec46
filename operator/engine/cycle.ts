import type { Essence } from '../model/essence.ts'
import { isMap } from './mergepatch.ts'

/** How far one handler got with the change at hand. Times are RFC 3339. */
export interface ProgressRecord {
  readonly startedAt: string
  /** Failed calls so far. */
  readonly failures: number
  /** Not to be called before. Absent once the handler is finished. */
  readonly delayedUntil?: string
  /** True when `delayedUntil` is a wait (requeueAfter), which a foreign change ends; false for the backoff of an error. */
  readonly waiting?: boolean
  readonly finished?: 'success' | 'failure'
  readonly message?: string
}

/**
 * One change on its way through the handlers it concerns, kept while at least one of them is not finished.
 * A cycle handles one essence. What is declared in the meantime is the next cycle's change, so no handler that is
 * finished already misses it.
 */
export interface Cycle {
  readonly type: 'create' | 'update' | 'delete' | 'resume'
  /** What the object was when the cycle began. */
  readonly essence: Essence
  /** By handler id. */
  readonly handlers: Readonly<Record<string, ProgressRecord>>
}

/** Whether a note can be gone on from: anybody can edit an annotation. */
export const isCycle = (note: unknown): note is Cycle =>
  isMap(note) &&
  isMap(note.handlers) &&
  Object.values(note.handlers).every((record) => isMap(record) && !Number.isNaN(Date.parse(String(record.startedAt))))
