/**
 * What is left of tasks and resources that are gone: inventories whose AdapterTask does not exist, or whose resource the HyperFleet API
 * does not have. ADAPTER-74, ADAPTER-77.
 */
import { AdapterInventory, type InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { isConflict } from '#operator/client/errors.ts'
import { RestMapper } from '#operator/client/rest-mapper.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import { findCondition } from '#operator/model/conditions.ts'
import type { EventData } from '../events/reconcile-event.ts'
import type { HttpClient } from '../http/client.ts'
import { ApiReader, NothingToDoError } from '../run/api-reader.ts'
import { MAX_ATTEMPTS } from '../run/resources/delete-object.ts'
import { isTerminating, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { keyOfEntry } from './entry.ts'
import {
  findOwn,
  isSeen,
  isUnclear,
  type OrphanedObject,
  type Reach,
  type UnclearObject,
  withoutHeld,
} from './orphaned-objects.ts'
import { readOnce } from './recorded-objects.ts'

export interface Orphan {
  readonly inventory: AdapterInventory
  /** `TaskGone`: nothing works on it any more. `ResourceGone`: the API does not have the resource. */
  readonly why: 'TaskGone' | 'ResourceGone'
  /** What the AdapterTask says of the deletions that it holds; such objects are not pruned. Undefined when it holds none. ADAPTER-77. */
  readonly held: string | undefined
  /** What is there of it. Objects of HTTP services are listed unseen. */
  readonly objects: readonly OrphanedObject[]
  /**
   * Objects of which it alone proves whose they are, that an inventory in use has too: they are no orphans, and it stays until the
   * other one has applied them. ADAPTER-96.
   */
  readonly proves: readonly InventoryObject[]
  /** Objects that a task of another namespace may have: they stay, and so does the inventory. ADAPTER-117. */
  readonly unclear: readonly UnclearObject[]
}

export interface OrphanOptions {
  /** In the name of the person that asks. */
  readonly transport: Transport
  readonly clock: Clock
  readonly namespace: string
  /** Of the HyperFleet API; the tasks alone are judged when undefined. */
  readonly apiClient: HttpClient | undefined
  readonly signal: AbortSignal
}

/** Reads only. @throws what the API server or the HyperFleet API failed with */
export const listOrphans = async ({
  transport,
  clock,
  namespace,
  apiClient,
  signal,
}: OrphanOptions): Promise<readonly Orphan[]> => {
  const api = createApi(transport, { signal })
  const kinds = new RestMapper(transport, clock)
  const { inventories, tasks } = await readInventories(api, namespace)
  const judged: { readonly inventory: AdapterInventory; readonly why: Orphan['why'] | undefined }[] = []
  for (const inventory of inventories) {
    const why = tasks.has(inventory.spec.task) ? await whyGone(inventory, apiClient, signal) : 'TaskGone'
    judged.push({ inventory, why })
  }
  // What is applied for a resource that is there is no orphan, whatever other resource has it too: ADAPTER-88.
  const living = judged.filter(({ why }) => why === undefined).flatMap(({ inventory }) => inventory.spec.objects)
  const inUse = Map.groupBy(living, keyOfEntry)
  const gone: { readonly inventory: AdapterInventory; readonly why: Orphan['why']; readonly seen: OrphanedObject[] }[] =
    []
  for (const { inventory, why } of judged) {
    if (why === undefined) continue
    const entries = inventory.spec.objects.filter((entry) => !inUse.has(keyOfEntry(entry)))
    gone.push({ inventory, why, seen: await findOwn(entries, inventory, { api, kinds, signal }) })
  }
  // After all objects were read, once for all of them.
  const readings = readOnce(api)
  const orphans: Orphan[] = []
  for (const { inventory, why, seen } of gone) {
    const found = await Promise.all(seen.map((one) => withoutHeld(one, inventory, api, readings)))
    const held = why === 'ResourceGone' ? tasks.get(inventory.spec.task) : undefined
    const proves = inventory.spec.objects.filter((entry) => isProofOf(entry, inUse.get(keyOfEntry(entry))))
    const objects = found.filter((one) => one !== undefined)
    orphans.push({ inventory, why, held, objects: objects.filter(isSeen), proves, unclear: objects.filter(isUnclear) })
  }
  return orphans
}

/**
 * Deletes what is there and not held, each object by its uid and in the state in which nothing else had it, and the inventories of which
 * nothing is left. Each inventory is judged again before anything of it goes: the list may be minutes old, read by a person meanwhile.
 * ADAPTER-81.
 * @returns how many objects were asked to go, and how many wait for others that are still there, or are written all the time. @throws what the API server failed with
 */
export const pruneOrphans = async (
  orphans: readonly Orphan[],
  { transport, clock, namespace, apiClient, signal }: OrphanOptions,
): Promise<{ readonly deleted: number; readonly waiting: number }> => {
  const api = createApi(transport, { signal })
  const kinds = new RestMapper(transport, clock)
  const result = { deleted: 0, waiting: 0 }
  const findUsed = (of: readonly OrphanedObject[]) => findInUse(of, { api, namespace, apiClient, signal })
  // After the objects were seen: taking one later changes it.
  let inUse = await findUsed(orphans.flatMap(({ objects }) => objects))
  for (const { inventory, why, objects, held, proves, unclear } of orphans) {
    if (held !== undefined) continue
    const task = await api.get(AdapterTask, inventory.spec.task, inventory.metadata.namespace)
    const isStill = why === 'TaskGone' ? task === undefined : (await whyGone(inventory, apiClient, signal)) === why
    if (!isStill) continue
    // It may be the proof of whose an object is that was taken meanwhile: the next list says.
    let isTaken = unclear.length > 0
    const refresh = async (of: readonly OrphanedObject[]): Promise<readonly OrphanedObject[]> => {
      const entries = of.map(({ entry }) => entry)
      const seen = await findOwn(entries, inventory, { api, kinds, signal })
      const readings = readOnce(api)
      const found = await Promise.all(seen.map((one) => withoutHeld(one, inventory, api, readings)))
      const objects = found.filter((one) => one !== undefined)
      isTaken ||= objects.some(isUnclear)
      return objects.filter(isSeen)
    }
    const isFree = ({ entry }: OrphanedObject) => !inUse.has(keyOfEntry(entry))
    const { name, namespace: where, uid, resourceVersion } = inventory.metadata
    const asked = new Set<InventoryObject>()
    let left: readonly OrphanedObject[] = objects.filter(isFree)
    isTaken ||= left.length < objects.length
    let attempts = 0
    for (let next = nextToGo(left, asked); next.length > 0; next = nextToGo(left, asked)) {
      let isChanged = false
      for (const { entry, object } of next) {
        if (!isTerminating(object)) {
          if (!(await deleteSeen({ entry, object }, { api, kinds, signal }))) {
            isChanged = true
            continue
          }
          result.deleted++
        }
        asked.add(entry)
      }
      if (isChanged && ++attempts === MAX_ATTEMPTS) break
      left = await refresh(left)
      if (isChanged) {
        inUse = await findUsed(left)
        isTaken ||= !left.every(isFree)
        left = left.filter(isFree)
      }
    }
    result.waiting += left.filter(({ entry, object }) => object !== undefined && !asked.has(entry)).length
    if (left.length === 0 && proves.length === 0 && !isTaken)
      await api.delete(AdapterInventory, name, where, { uid, resourceVersion })
  }
  return result
}

/** @returns false when the object is not as it was seen any more; then nothing was done. @throws what the API server failed with */
const deleteSeen = async (
  { entry, object }: { readonly entry: InventoryObject; readonly object: JsonObject },
  { api, kinds, signal }: Reach,
): Promise<boolean> => {
  const resource = await kinds.getServed(entry.apiVersion ?? '', entry.kind ?? '', signal)
  const { uid, resourceVersion } = metadataOf(object)
  try {
    const preconditions = { uid, resourceVersion, propagation: entry.propagationPolicy }
    await api.delete(resource, entry.name ?? '', entry.namespace, preconditions)
    return true
  } catch (error) {
    if (isConflict(error)) return false
    throw error
  }
}

/** All of a namespace, and what each task there holds, by its name: undefined when nothing. */
const readInventories = async (api: Api, namespace: string) => {
  // Before the tasks: one that is created meanwhile has no inventory among these.
  const inventories = await Array.fromAsync(api.list(AdapterInventory, { namespace }))
  const tasks = new Map<string, string | undefined>()
  for await (const { metadata, status } of api.list(AdapterTask, { namespace })) {
    const condition = findCondition(status?.conditions, 'DeletionsHeld')
    tasks.set(metadata.name, condition?.status === 'True' ? condition.message : undefined)
  }
  return { inventories, tasks }
}

/** Keys of those objects that the inventory of a task and a resource that are there has too. */
const findInUse = async (
  objects: readonly OrphanedObject[],
  {
    api,
    namespace,
    apiClient,
    signal,
  }: Pick<OrphanOptions, 'namespace' | 'apiClient' | 'signal'> & { readonly api: Api },
): Promise<ReadonlySet<string>> => {
  const keys = new Set(objects.map(({ entry }) => keyOfEntry(entry)))
  const inUse = new Set<string>()
  const { inventories, tasks } = await readInventories(api, namespace)
  for (const inventory of inventories) {
    const shared = inventory.spec.objects.map(keyOfEntry).filter((key) => keys.has(key))
    if (shared.length === 0 || !tasks.has(inventory.spec.task)) continue
    if ((await whyGone(inventory, apiClient, signal)) === undefined) for (const key of shared) inUse.add(key)
  }
  return inUse
}

/**
 * What was not asked yet and may go: nothing that it comes after is there. Of a circle, all. What an HTTP service has is not seen,
 * and holds nothing up.
 */
export const nextToGo = (
  left: readonly OrphanedObject[],
  asked: ReadonlySet<InventoryObject>,
): readonly (OrphanedObject & { readonly object: JsonObject })[] => {
  const seen = left.flatMap(({ entry, object }) => (object === undefined ? [] : [{ entry, object }]))
  const there = new Set(seen.map(({ entry }) => entry.resource))
  const isFree = ({ entry }: OrphanedObject) =>
    !(entry.after ?? []).some((name) => name !== entry.resource && there.has(name))
  const free = seen.filter(isFree)
  return (free.length === 0 ? seen : free).filter(({ entry }) => !asked.has(entry))
}

/** @param living what inventories of resources that are there have under the key of the entry */
export const isProofOf = ({ uid }: InventoryObject, living: readonly InventoryObject[] = []): boolean =>
  uid !== undefined && living.length > 0 && living.every((other) => other.uid !== uid)

const whyGone = async (
  { spec }: AdapterInventory,
  apiClient: HttpClient | undefined,
  signal: AbortSignal,
): Promise<Orphan['why'] | undefined> => {
  const { href } = spec.event as Partial<EventData>
  if (apiClient === undefined || typeof href !== 'string') return undefined
  try {
    await new ApiReader(apiClient, href, spec.resourceId).resource(signal)
    return undefined
  } catch (error) {
    if (error instanceof NothingToDoError) return error.absence === 'gone' ? 'ResourceGone' : undefined
    throw error
  }
}
