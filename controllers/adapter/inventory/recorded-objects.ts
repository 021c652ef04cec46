/** Which inventories of a namespace have which objects. */
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import type { Api } from '#operator/client/api.ts'
import { keyOfEntry } from './entry.ts'

/** An object as one inventory has it. */
export interface RecordedObject {
  /** Name of the inventory. */
  readonly inventory: string
  /** Uid of the inventory. */
  readonly mark: string
  readonly task: string
  readonly adapter: string
  /** Of the object, as the API server answered; undefined when it has not. */
  readonly uid: string | undefined
}

/** By key of the object. */
export type RecordedObjects = ReadonlyMap<string, readonly RecordedObject[]>

/** Of all inventories of the namespace. @throws what the API server failed with */
export const readRecordedObjects = async (api: Api, namespace: string): Promise<RecordedObjects> => {
  const objects = new Map<string, RecordedObject[]>()
  for await (const { metadata, spec } of api.list(AdapterInventory, { namespace })) {
    const common = { inventory: metadata.name, mark: metadata.uid, task: spec.task, adapter: spec.adapter }
    for (const entry of spec.objects) {
      const key = keyOfEntry(entry)
      const recorded = objects.get(key) ?? []
      recorded.push({ ...common, uid: entry.uid })
      objects.set(key, recorded)
    }
  }
  return objects
}
