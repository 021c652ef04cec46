/** What is done with a resource while the HyperFleet resource lives: ADAPTER-28, ADAPTER-29. */
import type { JsonObject } from '../../task/task.ts'
import { generationOf, isTerminating, pickLatest } from './object.ts'

/** What is done with one resource. */
export type ApplyPlan =
  | { readonly action: 'apply' }
  /** Its own condition wants it gone. */
  | { readonly action: 'delete' }
  /** It is absent, and its own condition keeps it so. */
  | { readonly action: 'skip' }
  /** It was applied for another generation, and must not be changed in place. */
  | { readonly action: 'recreate' }
  /** It is on its way out, and comes again when it is gone. */
  | { readonly action: 'await' }

export interface ResourceState {
  readonly found: readonly JsonObject[]
  /** Those that the task has applied: only they are deleted. */
  readonly own: readonly JsonObject[]
  readonly generation: number
  readonly recreateOnChange: boolean
  readonly createWhen: boolean
  readonly deleteWhen: boolean
}

/** Pure: what the facts ask for. */
export const decideApply = ({
  found,
  own,
  generation,
  recreateOnChange,
  createWhen,
  deleteWhen,
}: ResourceState): ApplyPlan => {
  if (deleteWhen) return { action: 'delete' }
  if (found.length === 0) return { action: createWhen ? 'apply' : 'skip' }
  const one = pickLatest(own)
  if (one === undefined || !recreateOnChange) return { action: 'apply' }
  if (isTerminating(one)) return { action: 'await' }
  return { action: generationOf(one) === generation ? 'apply' : 'recreate' }
}
