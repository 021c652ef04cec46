/**
 * Objects that several AdapterTasks of a namespace have. That another one has an object is proven by what the API server answered to the other task
 * (the uid in its inventory), or by what it wrote on the object; that a task has meant to apply it proves nothing. What is left to
 * another one is written into its inventory first, so that it can tell later that the object is its own. ADAPTER-88, ADAPTER-96.
 */
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Clock } from '#operator/model/clock.ts'
import { INVENTORY_ANNOTATION, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { isAdapterManager, managersOf, ownManagers } from '../transports/shared-objects.ts'
import { keyOfEntry, keyOfObject } from './entry.ts'
import { findHolderElsewhere, type HolderElsewhere } from './other-namespaces.ts'
import { type RecordedObject, type RecordedObjects, readRecordedObjects } from './recorded-objects.ts'
import { MAX_CONFLICTS } from './resource-inventory.ts'
import { SharedReadings } from './shared-readings.ts'

export interface OtherHoldersOptions {
  /** As the manager itself. */
  readonly api: Api
  readonly namespace: string
  /** Name of the AdapterTask whose others these are. */
  readonly task: string
  readonly clock: Clock
}

export class OtherHolders {
  readonly #options: OtherHoldersOptions
  readonly #recorded: SharedReadings<RecordedObjects>

  constructor(options: OtherHoldersOptions) {
    this.#options = options
    this.#recorded = new SharedReadings((namespace) => readRecordedObjects(options.api, namespace), options.clock)
  }

  /**
   * Name of another AdapterTask that has applied the object as one of these field managers. One that is not seen, because its answer is not
   * there yet, applies it again. @param read the object as it is there. @throws what the API server failed with
   */
  async find(
    manifest: JsonObject,
    managers: readonly string[],
    read: () => Promise<JsonObject | undefined>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!managers.some(isAdapterManager)) return undefined
    const recorded = await this.#recorded.recent(this.#options.namespace, signal)
    const candidates = this.#othersAmong(managers, recorded.get(keyOfObject(manifest)))
    if (candidates.length === 0) return undefined
    const isAnswered = candidates.some(({ uid }) => uid !== undefined)
    const mark = isAnswered ? undefined : metadataOf((await read()) ?? {}).annotations?.[INVENTORY_ANNOTATION]
    const holders = candidates.filter(({ uid, mark: own }) => uid !== undefined || own === mark)
    for (const task of new Set(holders.map((one) => one.task))) if (await this.#isThere(task, signal)) return task
    return undefined
  }

  /**
   * Leaves the object to another AdapterTask that has applied it too, also when the answer to that was lost: a deletion can't be taken
   * back. Its field manager has to be on the object: a task that has just left it has the uid in its inventory for a moment longer, and
   * two would leave it to each other. @returns whether there is one, which has the object's uid in its inventory then. @throws what the API server failed with
   */
  async handOver(object: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    const key = keyOfObject(object)
    const { uid } = metadataOf(object)
    if (uid === undefined) return false
    const recorded = await this.#recorded.next(namespace, signal)
    const holders = this.#othersAmong(managersOf(object), recorded.get(key))
    for (const [task, held] of Map.groupBy(holders, (one) => one.task)) {
      if (!(await this.#isThere(task, signal))) continue
      for (const { inventory: name } of held)
        if (await recordUid(api.withLimits({ signal }), { name, namespace }, key, uid)) return true
    }
    return false
  }

  /**
   * A task of another namespace that has the object, or may have it. ADAPTER-112.
   * @param managers field managers that are on it
   * @param read the object as it is there. @throws what the API server failed with
   */
  findElsewhere(
    manifest: JsonObject,
    managers: readonly string[],
    read: () => Promise<JsonObject | undefined>,
    signal: AbortSignal,
  ): Promise<HolderElsewhere | undefined> {
    const { api, namespace } = this.#options
    const recordedIn = (elsewhere: string) => this.#recorded.next(elsewhere, signal)
    return findHolderElsewhere(manifest, managers, read, { api: api.withLimits({ signal }), namespace, recordedIn })
  }

  #othersAmong(managers: readonly string[], recorded: readonly RecordedObject[] = []): readonly RecordedObject[] {
    const { namespace, task: own } = this.#options
    const isOnObject = (adapter: string) => ownManagers(namespace, adapter).some((one) => managers.includes(one))
    return recorded.filter(({ task, adapter }) => task !== own && isOnObject(adapter))
  }

  async #isThere(task: string, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    return (await api.withLimits({ signal }).get(AdapterTask, task, namespace)) !== undefined
  }
}

/**
 * Writes into the inventory of another resource or task that the object which it has under the key is this one. Its manager takes that over
 * with its next write, and a deletion reads the inventory anew. @returns whether it stands there; false when the object does not, any more
 */
export const recordUid = async (
  api: Api,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  key: string,
  uid: string,
): Promise<boolean> => {
  for (let attempt = 0; ; attempt++) {
    const found = await api.get(AdapterInventory, name, namespace)
    const entry = found?.spec.objects.find((one) => keyOfEntry(one) === key)
    if (found === undefined || entry === undefined) return false
    if (entry.uid === uid) return true
    const objects = found.spec.objects.map((one) => (one === entry ? { ...one, uid } : one))
    try {
      await api.replace(AdapterInventory, { ...found, spec: { ...found.spec, objects } })
      return true
    } catch (error) {
      const isRetried = (isConflict(error) || isNotFound(error)) && attempt < MAX_CONFLICTS
      if (!isRetried) throw error
    }
  }
}
