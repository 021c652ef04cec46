/**
 * Objects that tasks of other namespaces apply. Each belongs to tasks of one namespace: what is left to a task is written into its
 * inventory, and no manager writes inventories of another namespace. ADAPTER-112, ADAPTER-113.
 */
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { apiVersionOf, kindOf, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { managersOf, parseFieldManager } from '../transports/shared-objects.ts'
import { keyOfObject } from './entry.ts'
import { isHolder, type RecordedObject, type RecordedObjects } from './recorded-objects.ts'

export interface OtherNamespaces {
  readonly api: Api
  /** Whose others these are. */
  readonly namespace: string
  /** Read after the object was. @throws what the API server failed with */
  recordedIn(namespace: string): Promise<RecordedObjects>
  /** Of all namespaces; undefined where they may not be read. @throws what the API server failed with */
  recordedEverywhere(): Promise<RecordedObjects | undefined>
}

/** A task of another namespace that has an object, or may have it. */
export interface HolderElsewhere {
  /** False where the manager may not read that namespace: any writer may have put the field manager on the object. */
  readonly isCertain: boolean
  /** As a sentence about the object. */
  readonly description: string
}

/**
 * @param manifest of the object
 * @param managers field managers that are on it
 * @param read the object as it is there, which is asked for when one of them is of another namespace
 * @param isNew the task has not had the object: any writer may have taken the field managers of those that have it off
 * @throws what the API server failed with
 */
export const findHolderElsewhere = async (
  manifest: JsonObject,
  managers: readonly string[],
  read: () => Promise<JsonObject | undefined>,
  others: OtherNamespaces,
  isNew: boolean,
): Promise<HolderElsewhere | undefined> => {
  const elsewhere = foreign(managers, others)
  if (elsewhere.length === 0 && !isNew) return undefined
  const found = await read()
  if (elsewhere.length === 0 && found === undefined) return undefined
  const object = found ?? manifest
  const key = keyOfObject(manifest)
  const holder = await findHolderAnywhere(found, key, others)
  if (holder !== undefined && holder !== 'unread') return { isCertain: true, description: describe(holder) }
  if (holder === undefined) return undefined
  for (const { namespace, adapter } of elsewhere) {
    const one = await findHolderIn(namespace, found, key, others)
    if (one === undefined) continue
    if (one !== 'unread') return { isCertain: true, description: describe(one) }
    return { isCertain: false, description: `${describe({ namespace, adapter })}. ${remedyOf(object, namespace)}` }
  }
  return undefined
}

const describe = ({ namespace, adapter }: { readonly namespace: string; readonly adapter: string }): string =>
  `the adapter ${adapter} of the namespace ${namespace} applies it, and an object belongs to tasks of one namespace: leave it to that one, or give this one another name`

/** Whether a task of another namespace has the object; the namespace that may not be read, where one would have to be. @throws what the API server failed with */
export const isHeldElsewhere = async (
  object: JsonObject,
  others: OtherNamespaces,
): Promise<boolean | { readonly unread: string }> => {
  const key = keyOfObject(object)
  const anywhere = await findHolderAnywhere(object, key, others)
  if (anywhere !== 'unread') return anywhere !== undefined
  let unread: string | undefined
  for (const { namespace } of foreign(managersOf(object), others)) {
    const holder = await findHolderIn(namespace, object, key, others)
    if (holder === 'unread') unread ??= namespace
    else if (holder !== undefined) return true
  }
  return unread === undefined ? false : { unread }
}

/** Whatever field managers are on the object. */
const findHolderAnywhere = (object: JsonObject | undefined, key: string, others: OtherNamespaces) =>
  orUnread(async () => {
    const recorded = await others.recordedEverywhere()
    if (recorded === undefined) return 'unread'
    const elsewhere = (recorded.get(key) ?? []).filter(({ namespace }) => namespace !== others.namespace)
    return findThere(elsewhere, object, others)
  })

/** Of each other namespace that a field manager names the first one: any writer may have put thousands of a namespace on an object. */
const foreign = (managers: readonly string[], { namespace: own }: OtherNamespaces) => {
  const named = managers.flatMap((manager) => parseFieldManager(manager) ?? [])
  const byNamespace = Map.groupBy(named, ({ namespace }) => namespace)
  byNamespace.delete(own)
  return [...byNamespace.values()].flatMap(([first]) => first ?? [])
}

/**
 * A task that is there has the object in its inventory: this one, and none of its name that was there before. ADAPTER-116.
 * @param object undefined where it can't be read: then each may be this one
 */
const findHolderIn = (namespace: string, object: JsonObject | undefined, key: string, others: OtherNamespaces) =>
  orUnread(async () => findThere((await others.recordedIn(namespace)).get(key) ?? [], object, others))

const findThere = async (
  recorded: readonly RecordedObject[],
  object: JsonObject | undefined,
  { api }: OtherNamespaces,
): Promise<RecordedObject | undefined> => {
  const meant = recorded.filter((one) => object === undefined || isHolder(one, object))
  const tasks = Map.groupBy(meant, ({ namespace, task }) => `${namespace}/${task}`)
  for (const [holder] of tasks.values())
    if (holder && (await api.get(AdapterTask, holder.task, holder.namespace)) !== undefined) return holder
  return undefined
}

const orUnread = async <T>(read: () => Promise<T>): Promise<T | 'unread'> => {
  try {
    return await read()
  } catch (error) {
    if (isForbidden(error)) return 'unread'
    throw error
  }
}

/** Kubernetes: an empty entry takes all field managers off an object. A task that is there puts its own on again. */
const remedyOf = (object: JsonObject, elsewhere: string): string => {
  const { name = '', namespace } = metadataOf(object)
  const [group = '', version] = apiVersionOf(object).split('/')
  const kind = version === undefined ? kindOf(object) : `${kindOf(object)}.${group}`
  const where = namespace === undefined ? '' : ` -n ${namespace}`
  const release = `kubectl patch ${kind} ${name}${where} --type=merge -p '{"metadata":{"managedFields":[{}]}}'`
  return `Whether a task there has it can't be read: let the manager list adapterinventories and get adaptertasks in ${elsewhere}, or, if that task is gone, ${release}`
}
