/** Which inventories have which objects. */
import { AdapterInventory, type InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { INVENTORY_ANNOTATION, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { keyOfEntry } from './entry.ts'

/** An object as one inventory has it. */
export interface RecordedObject {
  /** Name of the inventory. */
  readonly inventory: string
  /** Of the inventory. */
  readonly namespace: string
  /** Uid of the inventory. */
  readonly mark: string
  readonly task: string
  readonly adapter: string
  /** Of the object, as the API server answered; undefined when it has not. */
  readonly uid: string | undefined
  readonly hold: InventoryObject['hold']
  readonly share: InventoryObject['share']
}

/** By key of the object. */
export type RecordedObjects = ReadonlyMap<string, readonly RecordedObject[]>

/** Of all inventories of the namespace, or of all namespaces. @throws what the API server failed with */
export const readRecordedObjects = async (api: Api, namespace?: string): Promise<RecordedObjects> => {
  const objects = new Map<string, RecordedObject[]>()
  for await (const { metadata, spec } of api.list(AdapterInventory, { namespace })) {
    const { task, adapter } = spec
    const common = { inventory: metadata.name, namespace: metadata.namespace ?? '', mark: metadata.uid, task, adapter }
    for (const entry of spec.objects) {
      const key = keyOfEntry(entry)
      const recorded = objects.get(key) ?? []
      recorded.push({ ...common, uid: entry.uid, hold: entry.hold, share: entry.share })
      objects.set(key, recorded)
    }
  }
  return objects
}

/** As `readRecordedObjects`, of all namespaces; undefined where they may not be read. @throws what the API server failed with */
export const readAllRecordedObjects = async (api: Api): Promise<RecordedObjects | undefined> => {
  try {
    return await readRecordedObjects(api)
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** Each namespace once, and all of them once: as they are when they are asked for first. */
export const readOnce = (api: Api) => {
  const byNamespace = new Map<string, Promise<RecordedObjects>>()
  let everywhere: Promise<RecordedObjects | undefined> | undefined
  return {
    recordedIn: (namespace: string): Promise<RecordedObjects> => {
      const reading = byNamespace.get(namespace) ?? readRecordedObjects(api, namespace)
      byNamespace.set(namespace, reading)
      return reading
    },
    recordedEverywhere: (): Promise<RecordedObjects | undefined> => {
      everywhere ??= readAllRecordedObjects(api)
      return everywhere
    },
  }
}

/**
 * The inventory has this very object, and its task is not about to leave it. Where the answer to the task was lost, the object carries the mark of
 * the inventory: that a task has meant to apply an object of the name proves nothing. ADAPTER-116, ADAPTER-122.
 */
export const isHolder = ({ uid, mark, hold }: RecordedObject, object: JsonObject): boolean => {
  const { uid: own, annotations } = metadataOf(object)
  if (hold === 'Leaving') return false
  return uid === undefined ? mark === annotations?.[INVENTORY_ANNOTATION] : uid === own
}
