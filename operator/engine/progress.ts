import { isObject } from '#lib/json/is-object.ts'
import type { DeclaredState } from '../model/declared-state.ts'

/** How far one handler got with the change at hand. Times are RFC 3339. */
export interface HandlerProgress {
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
 * A cycle handles one declared state. What is declared in the meantime is the next cycle's change, so no handler that is
 * finished already misses it. RUNTIME-13.
 */
export interface ChangeProgress {
  readonly type: 'create' | 'update' | 'delete' | 'resume'
  /** What the object declared when the cycle began. The key is what annotations already hold, so it keeps its name. */
  readonly essence: DeclaredState
  /** By handler id. */
  readonly handlers: Readonly<Record<string, HandlerProgress>>
}

/** Whether a note can be gone on from: every user can edit an annotation. */
export const isChangeProgress = (note: unknown): note is ChangeProgress =>
  isObject(note) &&
  isObject(note.handlers) &&
  Object.values(note.handlers).every(
    (record) => isObject(record) && !Number.isNaN(Date.parse(String(record.startedAt))),
  )
