import { type Diff, diff } from '#lib/json/diff.ts'
import { type DeclaredState, declaredStateOf } from './declared-state.ts'
import type { KubeObject } from './resource.ts'

/**
 * Why an object is looked at.
 *
 * - `gone`: it is no longer in the API server
 * - `free`: it is being deleted and waits for others, not for us
 * - `delete`: it is being deleted and waits for us
 * - `create`: it was never handled
 * - `resume`: it was handled before this process started, and nothing changed since
 * - `update`: what is declared differs from what was handled last
 * - `noop`: only the status or bookkeeping changed
 */
export type CauseType = 'gone' | 'free' | 'delete' | 'create' | 'resume' | 'noop' | 'update'

export interface Cause<O extends KubeObject = KubeObject> {
  readonly type: CauseType
  /** What was handled last; undefined when the object is new to us. */
  readonly old: DeclaredState<O> | undefined
  readonly new: DeclaredState<O> | undefined
  /** From `old` to `new`; from nothing when there is no `old`. */
  readonly diff: Diff
}

export interface Observed<O extends KubeObject> {
  /** Undefined when it is gone. */
  readonly object: O | undefined
  readonly handled: DeclaredState<O> | undefined
  /** True until the object was handled once since this process (or its leadership) began. */
  readonly initial: boolean
  readonly finalizer: string
}

/** Why the object is looked at now. kopf's order of questions: the first that says yes decides. */
export const detectCause = <O extends KubeObject>({ object, handled, initial, finalizer }: Observed<O>): Cause<O> => {
  if (object === undefined) return { type: 'gone', old: handled, new: undefined, diff: [] }

  const declared = declaredStateOf(object)
  const changes = diff(handled, declared)
  const because = (type: CauseType): Cause<O> => ({ type, old: handled, new: declared, diff: changes })

  const deleting = object.metadata.deletionTimestamp !== undefined
  if (deleting && !hasFinalizer(object, finalizer)) return because('free')
  if (deleting) return because('delete')
  if (handled === undefined) return because('create')
  if (changes.length > 0) return because('update')
  return because(initial ? 'resume' : 'noop')
}

export const hasFinalizer = (object: KubeObject, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) === true
