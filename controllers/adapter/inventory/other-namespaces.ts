/**
 * Objects that tasks of other namespaces apply. Each belongs to tasks of one namespace: what is left to a task is written into its
 * inventory, and no manager writes inventories of another namespace. ADAPTER-112, ADAPTER-113.
 */
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import type { Api } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { apiVersionOf, INVENTORY_ANNOTATION, kindOf, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { managersOf, parseFieldManager } from '../transports/shared-objects.ts'
import { keyOfObject } from './entry.ts'
import type { RecordedObject, RecordedObjects } from './recorded-objects.ts'

export interface OtherNamespaces {
  readonly api: Api
  /** Whose others these are. */
  readonly namespace: string
  /** Read after the object was. @throws what the API server failed with */
  recordedIn(namespace: string): Promise<RecordedObjects>
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
 * @throws what the API server failed with
 */
export const findHolderElsewhere = async (
  manifest: JsonObject,
  managers: readonly string[],
  read: () => Promise<JsonObject | undefined>,
  others: OtherNamespaces,
): Promise<HolderElsewhere | undefined> => {
  const elsewhere = foreign(managers, others)
  if (elsewhere.length === 0) return undefined
  const found = await read()
  const object = found ?? manifest
  for (const { namespace, adapter } of elsewhere) {
    const holder = await findHolderIn(namespace, found, keyOfObject(manifest), others)
    if (holder === undefined) continue
    const isCertain = holder !== 'unread'
    const what = `the adapter ${isCertain ? holder.adapter : adapter} of the namespace ${namespace} applies it, and an object belongs to tasks of one namespace: leave it to that one, or give this one another name`
    return { isCertain, description: isCertain ? what : `${what}. ${remedyOf(object, namespace)}` }
  }
  return undefined
}

/** Whether a task of another namespace has the object; the namespace that may not be read, where one would have to be. @throws what the API server failed with */
export const isHeldElsewhere = async (
  object: JsonObject,
  others: OtherNamespaces,
): Promise<boolean | { readonly unread: string }> => {
  let unread: string | undefined
  for (const { namespace } of foreign(managersOf(object), others)) {
    const holder = await findHolderIn(namespace, object, keyOfObject(object), others)
    if (holder === 'unread') unread ??= namespace
    else if (holder !== undefined) return true
  }
  return unread === undefined ? false : { unread }
}

/** Of each other namespace that a field manager names the first one: any writer may have put thousands of a namespace on an object. */
const foreign = (managers: readonly string[], { namespace: own }: OtherNamespaces) => {
  const named = managers.flatMap((manager) => parseFieldManager(manager) ?? [])
  const byNamespace = Map.groupBy(named, ({ namespace }) => namespace)
  byNamespace.delete(own)
  return [...byNamespace.values()].flatMap(([first]) => first ?? [])
}

/**
 * A task that is there has the object in its inventory: this one, and none of its name that was there before. Where the answer to it was
 * lost, the object carries the mark of that inventory: one that was refused has meant to apply it, too. ADAPTER-116.
 * @param object undefined where it can't be read: then each may be this one
 */
const findHolderIn = async (
  namespace: string,
  object: JsonObject | undefined,
  key: string,
  { api, recordedIn }: OtherNamespaces,
): Promise<RecordedObject | 'unread' | undefined> => {
  const { uid, annotations } = metadataOf(object ?? {})
  const isThis = (one: RecordedObject) =>
    object === undefined || (one.uid === undefined ? one.mark === annotations?.[INVENTORY_ANNOTATION] : one.uid === uid)
  try {
    const recorded = ((await recordedIn(namespace)).get(key) ?? []).filter(isThis)
    for (const [task, [holder]] of Map.groupBy(recorded, (one) => one.task))
      if ((await api.get(AdapterTask, task, namespace)) !== undefined) return holder
    return undefined
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
