/**
 * Finds the resources that have an inventory and of which no event tells any more: those that the API does not have, by a force-delete
 * or because nothing had to be waited for, those that got other labels, and those of which an older task applied more than this one
 * names. Each gets a run, which looks for itself and takes away what has to go: ADAPTER-66. Of those that the API
 * does not have, or that live and are not selected, only after two looks at all of them: ADAPTER-75, ADAPTER-87, ADAPTER-140.
 */
import { messageOf } from '#lib/errors/message-of.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { WakeSignal } from '#operator/model/wake-signal.ts'
import type { EventData } from '../events/reconcile-event.ts'
import { apiPath } from '../http/api-path.ts'
import { type HttpClient, RequestError } from '../http/client.ts'
import type { InventoryOwner, InventoryStore } from '../inventory/inventory-store.ts'
import { isMarkedDeleted } from '../run/phases/mode.ts'
import type { Json, JsonObject, Retry, Task } from '../task/task.ts'
import { LOOK_REST_MS, type LostResource } from './inferred-deletions.ts'

export interface CheckOptions {
  readonly task: Task
  /** Plural: clusters. */
  readonly resourceType: string
  readonly inventories: InventoryStore
  /** Of the HyperFleet API. */
  readonly apiClient: HttpClient
  readonly isSelected: (resource: JsonObject) => boolean
  /** A run for this resource is needed. */
  readonly onLeft: (event: EventData) => void
  /** A look at all of them begins. */
  readonly startLook: () => Look
  /** Wakes the next look before its time. */
  readonly soon: WakeSignal
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Decides at once about all resources that nothing but their labels or the API's silence says to leave.
 * @returns ids of those that need a run
 */
export type Look = (lost: readonly LostOwner[], owners: readonly InventoryOwner[]) => ReadonlySet<string>

export interface LostOwner {
  readonly owner: InventoryOwner
  readonly why: LostResource['why']
  /** As the API lists it; undefined when it does not have it. */
  readonly resource: JsonObject | undefined
}

/** How often the API is asked about all resources that have an inventory. */
const CHECK_INTERVAL_MS = 30_000
/** Ids in one request: a search has at most 4,096 characters. */
const MAX_IDS = 50
/** What both dialects of the API have: they refuse a field that they don't know. */
const FIELDS = 'id,labels,generation,deleted_time'
const RETRY: Retry = { attempts: 2, backoff: 'constant', baseDelayMs: 1_000, maxDelayMs: 1_000, timeoutMs: undefined }

/** Checks at once and then every 30 seconds, or sooner when it is woken, until the signal aborts. */
export const checkInventories = async (options: CheckOptions): Promise<void> => {
  const { clock, signal, log, soon } = options
  /** What the last check could not do. */
  let problem: string | undefined
  let isComplete = false
  while (!signal.aborted) {
    try {
      await checkOnce(options)
      problem = undefined
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof RequestError)) throw error
      if (problem !== error.message)
        log.warn('adapter: the API could not be asked which resources are left, asking again in 30 s', {
          problem: messageOf(error),
        })
      problem = error.message
    }
    await clock.sleep(LOOK_REST_MS, signal)
    await soon.wait(CHECK_INTERVAL_MS - LOOK_REST_MS, signal)
    if (!isComplete && !signal.aborted) isComplete = await readLate(options)
  }
}

/**
 * A request of the manager or of the task's spec before, cut off in the middle, may have created an inventory after they were read: no event
 * needs to tell of its resource again. ADAPTER-98. @returns whether they were read
 */
const readLate = async ({ inventories, signal, log }: CheckOptions): Promise<boolean> => {
  try {
    await inventories.load(signal)
    return true
  } catch (error) {
    const problem = messageOf(error)
    if (!signal.aborted) log.warn('adapter: inventories could not be read, trying again in 30 s', { problem })
    return false
  }
}

/** One round. @throws RequestError, or the signal's reason */
const checkOnce = async (options: CheckOptions): Promise<void> => {
  const { task, inventories, isSelected, onLeft, startLook } = options
  const names = new Set(task.resources.map(({ name }) => name))
  const endLook = startLook()
  const owners = inventories.owners
  const lost: LostOwner[] = []
  const left: InventoryOwner[] = []
  for (let at = 0; at < owners.length; at += MAX_IDS) {
    const some = owners.slice(at, at + MAX_IDS)
    const found = await findResources(some, options)
    for (const owner of some) {
      const resource = found.get(owner.event.id)
      if (resource === undefined) lost.push({ owner, why: 'gone', resource })
      else if (!isSelected(resource) && !isMarkedDeleted(resource)) lost.push({ owner, why: 'unselected', resource })
      else if (!isSelected(resource) || hasUnnamed(owner, names)) left.push(owner)
    }
  }
  const free = endLook(lost, owners)
  for (const { event } of [...left, ...lost.map(({ owner }) => owner).filter(({ event }) => free.has(event.id))])
    onLeft(event)
}

const hasUnnamed = ({ inventory }: InventoryOwner, names: ReadonlySet<string>): boolean =>
  [...inventory.entries.values()].some(({ resource }) => !names.has(resource))

/** Those that the API has, by id; half of them at a time where they are too large together (API-173). */
const findResources = async (
  owners: readonly InventoryOwner[],
  options: CheckOptions,
): Promise<ReadonlyMap<string, JsonObject>> => {
  try {
    return await askFor(owners, options)
  } catch (error) {
    if (!(error instanceof RequestError && error.status === 413 && owners.length > 1)) throw error
    const half = Math.ceil(owners.length / 2)
    return new Map([
      ...(await findResources(owners.slice(0, half), options)),
      ...(await findResources(owners.slice(half), options)),
    ])
  }
}

const askFor = async (
  owners: readonly InventoryOwner[],
  { apiClient, resourceType, signal }: CheckOptions,
): Promise<ReadonlyMap<string, JsonObject>> => {
  const ids = owners.map(({ event }) => `'${event.id.replaceAll(/['\\]/g, '\\$&')}'`)
  const query = new URLSearchParams({ search: `id in (${ids.join(', ')})`, size: String(MAX_IDS), fields: FIELDS })
  const url = apiPath(`/${resourceType}?${query.toString()}`)
  const { body } = await apiClient.send({ method: 'GET', url, headers: {}, body: undefined }, RETRY, signal)
  return new Map(itemsOf(body, url).flatMap((item) => (typeof item.id === 'string' ? [[item.id, item] as const] : [])))
}

/** @throws RequestError when this is no list: then nothing is known, as opposed to a list in which something is missing */
const itemsOf = (body: Json, url: string): readonly JsonObject[] => {
  const { items } = (body ?? {}) as { readonly items?: unknown }
  if (!Array.isArray(items)) throw new RequestError(`GET ${url}: what was answered is no list`, { url })
  return items as JsonObject[]
}
