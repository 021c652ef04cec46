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
  readonly generation: number
  readonly recreateOnChange: boolean
  readonly createWhen: boolean
  readonly deleteWhen: boolean
}

/** Pure: what the facts ask for. */
export const decideApply = ({
  found,
  generation,
  recreateOnChange,
  createWhen,
  deleteWhen,
}: ResourceState): ApplyPlan => {
  if (deleteWhen) return { action: 'delete' }
  const one = pickLatest(found)
  if (one === undefined) return { action: createWhen ? 'apply' : 'skip' }
  if (!recreateOnChange) return { action: 'apply' }
  if (isTerminating(one)) return { action: 'await' }
  return { action: generationOf(one) === generation ? 'apply' : 'recreate' }
}
