/** What is done with a resource while the HyperFleet resource lives: ADAPTER-28, ADAPTER-29. */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { JsonObject } from '../../task/task.ts'
import { generationOf, isTerminating, metadataOf, pickLatest } from './object.ts'

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

export interface OwnObject {
  readonly object: JsonObject
  /** What the inventory has of it; undefined when it has nothing. */
  readonly entry: InventoryObject | undefined
}

export interface ResourceState {
  readonly found: readonly JsonObject[]
  /** Those that the task has applied: only they are deleted. */
  readonly own: readonly OwnObject[]
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
  const one = pickLatest(own.map(({ object }) => object))
  if (one === undefined || !recreateOnChange) return { action: 'apply' }
  if (isTerminating(one)) return { action: 'await' }
  const entry = own.find(({ object }) => object === one)?.entry
  return { action: appliedGeneration(one, entry) === generation ? 'apply' : 'recreate' }
}

/** As the inventory says: other writers of the object may write any generation on it. Until the API server has answered, the object alone says it. ADAPTER-119. */
const appliedGeneration = (object: JsonObject, entry: InventoryObject | undefined): number =>
  entry?.uid !== undefined && entry.uid === metadataOf(object).uid ? entry.generation : generationOf(object)
