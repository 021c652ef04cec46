/** One object of an inventory that two have written: the manager that merges, and another one, or another task's. Pure. */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'

export interface TwoWritings {
  /** As this manager has read it last. */
  readonly known: InventoryObject | undefined
  /** As it has it now. */
  readonly own: InventoryObject | undefined
  /** It is gone, as this manager has seen since. */
  readonly isDropped: boolean
  /** As it is kept now. */
  readonly stored: InventoryObject
}

/** Undefined when it is in the inventory no more. */
export const mergeEntries = ({ known, own, isDropped, stored }: TwoWritings): InventoryObject | undefined => {
  const isChanged = !isSame(known, stored)
  // What the other one has written of an object since speaks of a later one than we have dropped, or have not touched.
  if (own === undefined) return isChanged || !isDropped ? stored : undefined
  if (isChanged && isSame(known, own)) return stored
  // Another task has left it to this one, or has joined it.
  const uid = own.uid ?? (known?.uid === undefined ? stored.uid : undefined)
  const isMeant = stored.uid === known?.uid || stored.uid === uid
  const share = own.share ?? (isMeant ? stored.share : undefined)
  return { ...own, ...(uid !== undefined && { uid }), ...(share && { share }) }
}

const isSame = (a: InventoryObject | undefined, b: InventoryObject): boolean =>
  a !== undefined && a.uid === b.uid && a.generation === b.generation && saysTheSame(a, b)

/** Apart from which object it is, and for which generation it was applied. */
export const saysTheSame = (a: InventoryObject, b: InventoryObject): boolean =>
  a.resource === b.resource &&
  a.propagationPolicy === b.propagationPolicy &&
  a.apiVersion === b.apiVersion &&
  (a.after ?? []).join() === (b.after ?? []).join()
