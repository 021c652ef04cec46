/**
 * Objects that several AdapterTasks of a namespace have. That another one has an object is proven by what the API server answered to the other task
 * (the uid in its inventory), or by what it wrote on the object; that a task has meant to apply it proves nothing. What is left to
 * another one is written into its inventory first, so that it can tell later that the object is its own. ADAPTER-88, ADAPTER-96.
 */
import { AdapterInventory } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isConflict, isNotFound } from '#operator/client/errors.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { INVENTORY_ANNOTATION, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { isAppliedBy, ownManagers } from '../transports/shared-objects.ts'
import { keyOfEntry, keyOfObject } from './entry.ts'
import { findHolderElsewhere, type HolderElsewhere } from './other-namespaces.ts'
import { MAX_CONFLICTS } from './resource-inventory.ts'

/** An inventory of another task in which an object stands. */
interface Candidate {
  /** Of the object. */
  readonly key: string
  readonly inventory: string
  /** Of the inventory. */
  readonly mark: string
  readonly task: string
  readonly adapter: string
  /** Of the object, as the API server answered; undefined when it has not. */
  readonly uid: string | undefined
}

export interface OtherHoldersOptions {
  /** As the manager itself. */
  readonly api: Api
  readonly namespace: string
  /** Name of the AdapterTask whose others these are. */
  readonly task: string
  readonly clock: Clock
}

/** For how long one reading of all inventories serves: a field manager that is forged on many objects must not have them read each time. */
const LISTING_TTL_MS = 1_000

export class OtherHolders {
  readonly #options: OtherHoldersOptions
  #listing: { readonly at: number; readonly candidates: Promise<ReadonlyMap<string, readonly Candidate[]>> } | undefined

  constructor(options: OtherHoldersOptions) {
    this.#options = options
  }

  /**
   * Name of another AdapterTask that has applied the object. One that is not seen, because its answer is not there yet, applies it again.
   * @param read the object as it is there. @throws what the API server failed with
   */
  async find(manifest: JsonObject, read: () => Promise<JsonObject | undefined>, signal: AbortSignal) {
    const candidates = (await this.#listed(signal)).get(keyOfObject(manifest)) ?? []
    if (candidates.length === 0) return undefined
    const isAnswered = candidates.some(({ uid }) => uid !== undefined)
    const mark = isAnswered ? undefined : metadataOf((await read()) ?? {}).annotations?.[INVENTORY_ANNOTATION]
    const holders = candidates.filter(({ uid, mark: own }) => uid !== undefined || own === mark)
    for (const task of new Set(holders.map((one) => one.task))) if (await this.#isThere(task, signal)) return task
    return undefined
  }

  /**
   * Leaves the object to another AdapterTask that has applied it too, also when the answer to that was lost: a deletion can't be taken
   * back. @returns whether there is one, which has the object's uid in its inventory then. @throws what the API server failed with
   */
  async handOver(object: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    const key = keyOfObject(object)
    const { uid } = metadataOf(object)
    if (uid === undefined) return false
    const candidates = (await this.#list(signal)).get(key) ?? []
    const holders = candidates.filter(
      (one) => one.uid === uid || isAppliedBy(object, ownManagers(namespace, one.adapter)),
    )
    for (const [task, held] of Map.groupBy(holders, (one) => one.task)) {
      if (!(await this.#isThere(task, signal))) continue
      for (const { inventory: name } of held)
        if (await recordUid(api.withLimits({ signal }), { name, namespace }, key, uid)) return true
    }
    return false
  }

  /**
   * A task of another namespace that has the object, or may have it. ADAPTER-112.
   * @param managers field managers that are on it. @throws what the API server failed with
   */
  findElsewhere(
    object: JsonObject,
    managers: readonly string[],
    signal: AbortSignal,
  ): Promise<HolderElsewhere | undefined> {
    const { api, namespace } = this.#options
    return findHolderElsewhere(object, managers, { api: api.withLimits({ signal }), namespace })
  }

  async #isThere(task: string, signal: AbortSignal): Promise<boolean> {
    const { api, namespace } = this.#options
    return (await api.withLimits({ signal }).get(AdapterTask, task, namespace)) !== undefined
  }

  async #listed(signal: AbortSignal): Promise<ReadonlyMap<string, readonly Candidate[]>> {
    const now = monotonic(this.#options.clock)
    if (this.#listing === undefined || now - this.#listing.at >= LISTING_TTL_MS) {
      const candidates = this.#list(signal)
      const listing = { at: now, candidates }
      this.#listing = listing
      // Also when the run ends that has asked: the next one asks itself.
      candidates.catch(() => {
        if (this.#listing === listing) this.#listing = undefined
      })
    }
    return this.#listing.candidates
  }

  /** By key of the object. */
  async #list(signal: AbortSignal): Promise<ReadonlyMap<string, readonly Candidate[]>> {
    const { api, namespace, task } = this.#options
    const candidates: Candidate[] = []
    for await (const { metadata, spec } of api.withLimits({ signal }).list(AdapterInventory, { namespace })) {
      if (spec.task === task) continue
      const common = { inventory: metadata.name, mark: metadata.uid, task: spec.task, adapter: spec.adapter }
      for (const entry of spec.objects) candidates.push({ ...common, key: keyOfEntry(entry), uid: entry.uid })
    }
    return Map.groupBy(candidates, ({ key }) => key)
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
