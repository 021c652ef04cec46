/**
 * Objects that several AdapterTasks of a namespace have. That another one has an object is proven by what the API server answered to the other task
 * (the uid in its inventory), or by what it wrote on the object; that a task has meant to apply it proves nothing. What is left to
 * another one is written into its inventory first, so that it can tell later that the object is its own. ADAPTER-88, ADAPTER-96.
 */
import { AdapterInventory, type InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Clock } from '#operator/model/clock.ts'
import { INVENTORY_ANNOTATION, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { isAdapterManager, managersOf, ownManagers } from '../transports/shared-objects.ts'
import { keyOfEntry, keyOfObject } from './entry.ts'
import { findHolderElsewhere, type HolderElsewhere } from './other-namespaces.ts'
import {
  isHolder,
  type RecordedObject,
  type RecordedObjects,
  readAllRecordedObjects,
  readRecordedObjects,
} from './recorded-objects.ts'
import { MAX_CONFLICTS } from './resource-inventory.ts'
import { SharedReadings } from './shared-readings.ts'

export interface OtherHoldersOptions {
  /** As the manager itself. */
  readonly api: Api
  readonly namespace: string
  /** Name of the AdapterTask whose others these are. */
  readonly task: string
  readonly clock: Clock
  /** What the inventories of the task have in memory, where a run may not have written yet what it has left. */
  readonly own?: OwnObjects
}

export interface OwnObjects {
  /** The task has this very object for a resource. */
  has(key: string, uid: string): boolean
  /** Names of the inventories that have the object. */
  inventoriesWith(key: string): ReadonlySet<string>
}

const NONE: OwnObjects = { has: () => false, inventoriesWith: () => new Set() }

export class OtherHolders {
  readonly #options: OtherHoldersOptions
  readonly #recorded: SharedReadings<RecordedObjects>
  /** By one key. */
  readonly #everywhere: SharedReadings<RecordedObjects | undefined>

  constructor(options: OtherHoldersOptions) {
    this.#options = options
    const { api, clock } = options
    this.#recorded = new SharedReadings((namespace) => readRecordedObjects(api, namespace), clock)
    this.#everywhere = new SharedReadings(() => readAllRecordedObjects(api), clock)
  }

  /** Another resource of the task has this very object. */
  isOwn(object: JsonObject): boolean {
    const { own = NONE } = this.#options
    const { uid } = metadataOf(object)
    return uid !== undefined && own.has(keyOfObject(object), uid)
  }

  /**
   * Name of another AdapterTask that has applied the object as one of these field managers, and would put its fields right. One that is not seen,
   * because its answer is not there yet, applies it again. @param read the object as it is there. @throws what the API server failed with
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
    return this.#firstAtWork(holders, signal)
  }

  /**
   * Name of another AdapterTask that has this very object and would put its fields right, whatever field managers are on it: any writer
   * may have taken them off. ADAPTER-122. @param isAny also one beside the first. @throws what the API server failed with
   */
  async findAtWork(object: JsonObject, signal: AbortSignal, isAny: boolean): Promise<string | undefined> {
    const recorded = await this.#recorded.recent(this.#options.namespace, signal)
    const holders = this.#holdersOf(object, recorded.get(keyOfObject(object)))
    return this.#firstAtWork(isAny ? holders : holders.filter(({ share }) => share !== 'Beside'), signal)
  }

  /** Writes into an inventory of each other AdapterTask that has this very object that it is shared from now on. @returns whether there is one. @throws what the API server failed with */
  async noteShared(object: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    const recorded = await this.#recorded.recent(namespace, signal)
    const byTask = Map.groupBy(this.#holdersOf(object, recorded.get(keyOfObject(object))), (one) => one.task)
    const bound = api.withLimits({ signal })
    for (const [{ inventory: name }] of byTask.values() as Iterable<[RecordedObject]>)
      await changeEntry(bound, { name, namespace }, keyOfObject(object), { share: 'First' })
    return byTask.size > 0
  }

  /**
   * Leaves the object to another AdapterTask that has it, as its inventory says, whatever field managers are on it; or that has applied it under its field
   * manager, when the answer to that was lost: a deletion can't be taken back. The own inventory says before that the task is leaving it, and so does that of the other one
   * when it leaves too: the later of the two sees that, and none leaves it to one that is leaving it. ADAPTER-122.
   * @returns whether there is one, which has the object's uid in its inventory then. @throws what the API server failed with
   */
  async handOver(object: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    const key = keyOfObject(object)
    const { uid } = metadataOf(object)
    if (uid === undefined) return false
    const read = async () => (await this.#recorded.next(namespace, signal)).get(key) ?? []
    let recorded = await read()
    if (await this.#announceForSiblings(recorded, key, uid, signal)) recorded = await read()
    const byManager = this.#othersAmong(managersOf(object), recorded).filter((one) => one.uid === undefined)
    const holders = this.#holdersOf(object, recorded)
    for (const [task, held] of Map.groupBy([...holders, ...byManager], (one) => one.task)) {
      if ((await this.#get(task, signal)) === undefined) continue
      for (const { inventory: name } of held)
        if (await changeEntry(api.withLimits({ signal }), { name, namespace }, key, { uid, share: 'First' }))
          return true
    }
    return false
  }

  /** Runs for other resources of the task have left the object to this one, and not all have written that yet. @returns whether it was written for one */
  async #announceForSiblings(
    recorded: readonly RecordedObject[],
    key: string,
    uid: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, namespace, task: ownTask, own = NONE } = this.#options
    const siblings = own.inventoriesWith(key)
    const late = recorded.filter(
      (one) => one.task === ownTask && one.uid === uid && one.hold !== 'Leaving' && !siblings.has(one.inventory),
    )
    for (const { inventory: name } of late)
      await changeEntry(api.withLimits({ signal }), { name, namespace }, key, { hold: 'Leaving' })
    return late.length > 0
  }

  /**
   * A task of another namespace that has the object, or may have it. ADAPTER-112.
   * @param managers field managers that are on it
   * @param read the object as it is there
   * @param isNew the task has not had it before
   * @param mayLag what inventories had a second ago does: they are read again before the object counts as the task's. @throws what the API server failed with
   */
  findElsewhere(
    manifest: JsonObject,
    managers: readonly string[],
    read: () => Promise<JsonObject | undefined>,
    signal: AbortSignal,
    { isNew = false, mayLag = false }: { readonly isNew?: boolean; readonly mayLag?: boolean } = {},
  ): Promise<HolderElsewhere | undefined> {
    const { api, namespace } = this.#options
    const recordedIn = (elsewhere: string) => this.#recorded.next(elsewhere, signal)
    const recordedEverywhere = () => (mayLag ? this.#everywhere.recent('', signal) : this.#everywhere.next('', signal))
    const others = { api: api.withLimits({ signal }), namespace, recordedIn, recordedEverywhere }
    return findHolderElsewhere(manifest, managers, read, others, isNew)
  }

  #othersAmong(managers: readonly string[], recorded: readonly RecordedObject[] = []): readonly RecordedObject[] {
    const { namespace, task: own } = this.#options
    const isOnObject = (adapter: string) => ownManagers(namespace, adapter).some((one) => managers.includes(one))
    return recorded.filter(({ task, adapter }) => task !== own && isOnObject(adapter))
  }

  #holdersOf(object: JsonObject, recorded: readonly RecordedObject[] = []): readonly RecordedObject[] {
    return recorded.filter((one) => one.task !== this.#options.task && isHolder(one, object))
  }

  /** The first whose task is there and runs: what a task keeps, or has while it is suspended, it does not take back. ADAPTER-123 */
  async #firstAtWork(holders: readonly RecordedObject[], signal: AbortSignal): Promise<string | undefined> {
    const running = holders.filter(({ hold }) => hold === undefined)
    for (const name of new Set(running.map(({ task }) => task))) {
      const task = await this.#get(name, signal)
      if (task !== undefined && task.spec?.suspend !== true) return name
    }
    return undefined
  }

  #get(task: string, signal: AbortSignal): Promise<AdapterTask | undefined> {
    const { api, namespace } = this.#options
    return api.withLimits({ signal }).get(AdapterTask, task, namespace)
  }
}

/**
 * Writes into the inventory of another resource or task what has become of the object that it has under the key. Its manager takes that over
 * with its next write, and a deletion reads the inventory anew. @returns whether it stands there; false when the object does not, any more, or is about to be left
 */
export const changeEntry = async (
  api: Api,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  key: string,
  { uid, share, hold }: Pick<InventoryObject, 'uid' | 'share' | 'hold'>,
): Promise<boolean> => {
  for (let attempt = 0; ; attempt++) {
    const found = await api.get(AdapterInventory, name, namespace)
    const entry = found?.spec.objects.find((one) => keyOfEntry(one) === key)
    if (found === undefined || entry === undefined || entry.hold === 'Leaving') return false
    const changed = { ...entry, uid: uid ?? entry.uid, share: entry.share ?? share, hold: hold ?? entry.hold }
    if (changed.uid === entry.uid && changed.share === entry.share && changed.hold === entry.hold) return true
    const objects = found.spec.objects.map((one) => (one === entry ? changed : one))
    try {
      await api.replace(AdapterInventory, { ...found, spec: { ...found.spec, objects } })
      return true
    } catch (error) {
      const isRetried = (isConflict(error) || isNotFound(error)) && attempt < MAX_CONFLICTS
      if (!isRetried) throw error
    }
  }
}
