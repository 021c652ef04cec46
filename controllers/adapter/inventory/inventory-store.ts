/** The inventories of one task: AdapterInventory objects beside it, which its manager alone writes. docs/decisions/adapter-inventory.md. */
import { createHash } from 'node:crypto'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { EventData } from '../events/reconcile-event.ts'
import { TaskError } from '../run/task-error.ts'
import type { JsonObject } from '../task/task.ts'
import { keyOfObject } from './entry.ts'
import { changeEntry, OtherHolders } from './other-holders.ts'
import { type InventoryStorage, ResourceInventory, type StoredInventory } from './resource-inventory.ts'

/** By which the inventories of a task are listed. */
export const TASK_LABEL = 'muster.dev/task'

export interface InventoryStoreOptions {
  /** As the manager itself: tasks can't write their inventories. */
  readonly transport: Transport
  readonly namespace: string
  /** Name of the AdapterTask. */
  readonly task: string
  readonly adapter: string
  readonly serviceAccountName: string
  /** Inventories without objects are kept, because they say that the task has reported for the resource. */
  readonly keepsEmpty: boolean
  readonly clock: Clock
}

/** A resource that has an inventory, and that. */
export interface InventoryOwner {
  /** What an event about it would say. */
  readonly event: EventData
  readonly inventory: ResourceInventory
}

export class InventoryStore {
  readonly #options: InventoryStoreOptions
  readonly #api: Api
  /** Other tasks that have the same objects. */
  readonly others: OtherHolders
  /** By id of the HyperFleet resource. */
  readonly #owners = new Map<string, InventoryOwner>()
  /** Ids of resources by the key of an object that they have. */
  readonly #byObject = new Map<string, Set<string>>()

  constructor(options: InventoryStoreOptions) {
    this.#options = options
    this.#api = createApi(options.transport)
    const { namespace, task } = options
    const own = {
      has: (key: string, uid: string) =>
        this.#ownersWith(key).some(({ inventory }) => inventory.entries.get(key)?.uid === uid),
      inventoriesWith: (key: string) =>
        new Set(this.#ownersWith(key).map(({ event }) => inventoryName(namespace, task, event.id))),
    }
    this.others = new OtherHolders({ ...options, api: this.#api, own })
  }

  /** Reads the inventories that are there and not known. @throws what the API server failed with */
  async load(signal: AbortSignal): Promise<void> {
    const { namespace, task } = this.#options
    const labelSelector = `${TASK_LABEL}=${consumerGroup(namespace, task)}`
    for await (const found of this.#api.withLimits({ signal }).list(AdapterInventory, { namespace, labelSelector }))
      if (found.spec.task === task && !this.#owners.has(found.spec.resourceId))
        this.#add(found.spec.event as EventData, found.spec.resourceId, toStored(found))
  }

  /** Of the task. */
  get namespace(): string {
    return this.#options.namespace
  }

  /** Of one resource; an empty one when there is none yet. */
  of(event: EventData): ResourceInventory {
    return (this.#owners.get(event.id) ?? this.#add(event, event.id, undefined)).inventory
  }

  has(id: string): boolean {
    return this.#owners.get(id)?.inventory.isRecorded === true
  }

  /** Where the API has the resource, as it was written down with the first object. Undefined when nothing is written down. */
  recordedHref(id: string): string | undefined {
    const owner = this.#owners.get(id)
    const href = owner?.inventory.isRecorded === true ? owner.event.href : undefined
    return typeof href === 'string' ? href : undefined
  }

  /** All that have an inventory. */
  get owners(): readonly InventoryOwner[] {
    return [...this.#owners.values()].filter(({ inventory }) => inventory.isRecorded)
  }

  /**
   * Leaves an object to another resource of the task that has it in its inventory too, and has its uid there from then on: ADAPTER-86,
   * ADAPTER-96. It is taken out of the inventory of this one without a pause after the last look, or two that go at once would leave it
   * to each other. @param uid undefined of an object of an HTTP service. @returns whether there is such a resource
   */
  async leave(key: string, uid: string | undefined, id: string, signal: AbortSignal): Promise<boolean> {
    const { namespace, task } = this.#options
    const without = new Set([id])
    // One that has not sent it yet forgets it without a word, unless the uid was written there meanwhile.
    const isHeld = (inventory: ResourceInventory) =>
      uid === undefined ? inventory.wasSent(key) : inventory.entries.has(key)
    const findHolder = () =>
      [...(this.#byObject.get(key) ?? [])].find((other) => {
        const inventory = this.#owners.get(other)?.inventory
        return !without.has(other) && inventory !== undefined && isHeld(inventory)
      })
    for (;;) {
      const other = findHolder()
      if (other === undefined) return false
      const name = inventoryName(namespace, task, other)
      // The last of the task that has it asks other tasks, whichever of its inventories they have told.
      const share = this.#owners.get(id)?.inventory.entries.get(key)?.share
      const record = () => changeEntry(this.#api.withLimits({ signal }), { name, namespace }, key, { uid, share })
      const isKnown = uid === undefined || (await explained('written', name, signal, record))
      if (!isKnown) without.add(other)
      else if (findHolder() === other) {
        if (share !== undefined) this.#owners.get(other)?.inventory.noteShared(key)
        this.#owners.get(id)?.inventory.drop([key])
        return true
      }
    }
  }

  /** The resources for which this object was applied, as what an event about each would say. ADAPTER-65. */
  ownersOf(object: JsonObject): readonly EventData[] {
    return [...(this.#byObject.get(keyOfObject(object)) ?? [])].flatMap((id) => this.#owners.get(id)?.event ?? [])
  }

  /** Forgets those of which nothing is kept. To be called when no run is under way for the resource. */
  forget(id: string): void {
    const owner = this.#owners.get(id)
    if (owner !== undefined && !owner.inventory.isRecorded && owner.inventory.entries.size === 0)
      this.#owners.delete(id)
  }

  #add(event: EventData, id: string, stored: StoredInventory | undefined): InventoryOwner {
    const inventory = new ResourceInventory({
      storage: this.#storageOf({ ...event, id }),
      stored,
      keepsEmpty: this.#options.keepsEmpty,
      onEntry: (key, isThere) => this.#index(key, id, isThere),
    })
    const owner = { event: stableEvent({ ...event, id }), inventory }
    this.#owners.set(id, owner)
    return owner
  }

  #ownersWith(key: string): readonly InventoryOwner[] {
    return [...(this.#byObject.get(key) ?? [])].flatMap((id) => this.#owners.get(id) ?? [])
  }

  #index(key: string, id: string, isThere: boolean): void {
    const ids = this.#byObject.get(key) ?? new Set()
    if (isThere) ids.add(id)
    else ids.delete(id)
    if (ids.size > 0) this.#byObject.set(key, ids)
    else this.#byObject.delete(key)
  }

  #storageOf(event: EventData): InventoryStorage {
    const { namespace, task, adapter, serviceAccountName } = this.#options
    const name = inventoryName(namespace, task, event.id)
    const api = this.#api
    return {
      read: (signal) =>
        explained('read', name, signal, async () => {
          const found = await api.withLimits({ signal }).get(AdapterInventory, name, namespace)
          return found && toStored(found)
        }),
      write: (objects, before, signal) =>
        explained('written', name, signal, async () => {
          const metadata = { name, namespace, labels: { [TASK_LABEL]: consumerGroup(namespace, task) } }
          const spec = { task, adapter, serviceAccountName, resourceId: event.id, event: stableEvent(event), objects }
          const bound = api.withLimits({ signal })
          try {
            if (before === undefined)
              return toStored(
                await bound.create(AdapterInventory, { metadata, spec: { ...spec, objects: [...objects] } }),
              )
            const { resourceVersion, uid } = before
            const object = { metadata: { ...metadata, resourceVersion, uid }, spec: { ...spec, objects: [...objects] } }
            return toStored(await bound.replace(AdapterInventory, object))
          } catch (error) {
            if (isConflict(error) || isAlreadyExists(error) || (before !== undefined && isNotFound(error)))
              return undefined
            throw error
          }
        }),
      remove: ({ uid, resourceVersion }, signal) =>
        explained('deleted', name, signal, async () => {
          try {
            await api.withLimits({ signal }).delete(AdapterInventory, name, namespace, { uid, resourceVersion })
            return true
          } catch (error) {
            if (isConflict(error)) return false
            throw error
          }
        }),
    }
  }
}

/** Of one task and resource alone. */
export const inventoryName = (namespace: string, task: string, resourceId: string): string =>
  `${consumerGroup(namespace, task)}-${createHash('sha256').update(resourceId).digest('hex').slice(0, 16)}`

/** What stays the same from event to event. */
const stableEvent = ({ id, kind, href, owner_references }: EventData): EventData =>
  JSON.parse(JSON.stringify({ id, kind, href, owner_references })) as EventData

const toStored = ({ metadata, spec: { objects } }: AdapterInventory): StoredInventory => ({
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  recordedAt: metadata.creationTimestamp,
  objects,
})

/** @throws TaskError that says what could not be done, or the signal's reason */
const explained = async <T>(verb: string, name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    throw new TaskError('InventoryFailed', `the AdapterInventory ${name} can't be ${verb}: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
