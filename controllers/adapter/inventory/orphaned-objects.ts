/** Objects of inventories of which nothing is used any more: which are there, and whose they are. */
import type { AdapterInventory, InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { Api } from '#operator/client/api.ts'
import { type RestMapper, UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { JsonObject } from '../task/task.ts'
import { isOwn, keyOfEntry } from './entry.ts'
import { isHeldElsewhere } from './other-namespaces.ts'
import type { readOnce } from './recorded-objects.ts'

export interface UnclearObject {
  readonly entry: InventoryObject
  /** The namespace, whose inventories and tasks the person that asks may not read. */
  readonly unread: string
}

export interface OrphanedObject {
  readonly entry: InventoryObject
  /** Undefined for an object of an HTTP service. */
  readonly object: JsonObject | undefined
}

export const isUnclear = (found: OrphanedObject | UnclearObject): found is UnclearObject => 'unread' in found
export const isSeen = (found: OrphanedObject | UnclearObject): found is OrphanedObject => !isUnclear(found)

export interface Reach {
  readonly api: Api
  readonly kinds: RestMapper
  readonly signal: AbortSignal
}

/** Those that are there and are the ones that were applied. */
export const findOwn = async (
  entries: readonly InventoryObject[],
  inventory: AdapterInventory,
  reach: Reach,
): Promise<OrphanedObject[]> => {
  const found = await Promise.all(entries.map((entry) => findObject(entry, inventory, reach)))
  return found.filter((one) => one !== undefined)
}

const findObject = async (
  entry: InventoryObject,
  { metadata, spec }: AdapterInventory,
  { api, kinds, signal }: Reach,
): Promise<OrphanedObject | undefined> => {
  if (entry.url !== undefined) return { entry, object: undefined }
  try {
    const resource = await kinds.getServed(entry.apiVersion ?? '', entry.kind ?? '', signal)
    const found = (await api.get(resource, entry.name ?? '', entry.namespace)) as unknown as JsonObject | undefined
    const ownership = {
      entries: new Map([[keyOfEntry(entry), entry]]),
      mark: metadata.uid,
      recordedAt: metadata.creationTimestamp,
      adapter: spec.adapter,
      resourceId: spec.resourceId,
    }
    return found !== undefined && isOwn(found, ownership) ? { entry, object: found } : undefined
  } catch (error) {
    if (error instanceof UnknownKindError) return undefined
    throw error
  }
}

/** Undefined when it is a task's of another namespace. Whether its resource is there, another HyperFleet API may have to say: that its task is there is enough. ADAPTER-112. */
export const withoutHeld = async (
  one: OrphanedObject,
  { metadata: { namespace = 'default' } }: AdapterInventory,
  api: Api,
  readings: ReturnType<typeof readOnce>,
): Promise<OrphanedObject | UnclearObject | undefined> => {
  const { entry, object } = one
  if (object === undefined) return one
  const isHeld = await isHeldElsewhere(object, { api, namespace, ...readings })
  if (typeof isHeld === 'object') return { entry, unread: isHeld.unread }
  return isHeld ? undefined : one
}
