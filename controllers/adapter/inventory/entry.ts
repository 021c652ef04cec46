/** One object of an inventory: which one it is, how it is found again, and whether an object that is there is that one. Pure. */
import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import {
  ADAPTER_LABEL,
  apiVersionOf,
  EVENT_ANNOTATION,
  INVENTORY_ANNOTATION,
  kindOf,
  metadataOf,
} from '../run/resources/object.ts'
import type { JsonObject, TaskResource } from '../task/task.ts'
import type { Lookup, Target } from '../transports/transport.ts'

/** Tells an object from all others that are there at the same time. The version is no part of it: one object is served in several. */
export const keyOfObject = (object: JsonObject): string => {
  const { namespace = '', name = '' } = metadataOf(object)
  return kubernetesKey(apiVersionOf(object), kindOf(object), namespace, name)
}

export const keyOfEntry = ({ url, apiVersion = '', kind = '', namespace = '', name = '' }: InventoryObject): string =>
  url === undefined ? kubernetesKey(apiVersion, kind, namespace, name) : `http ${url}`

const kubernetesKey = (apiVersion: string, kind: string, namespace: string, name: string): string =>
  `${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}/${kind}/${namespace}/${name}`

/** What is written down before a target is applied. @param after names of the resources that are deleted before it */
export const entryOfTarget = (
  { transport, manifest }: Target,
  { name, policy }: Pick<TaskResource, 'name' | 'policy'>,
  generation: number,
  after: readonly string[],
): InventoryObject => {
  const common = {
    resource: name,
    generation,
    propagationPolicy: policy,
    ...(after.length > 0 && { after: [...after] }),
  }
  if (transport.kind === 'http') return { ...common, url: transport.url }
  return { ...common, ...locationOf(manifest) }
}

/** Where an object of the Kubernetes API is. */
export const locationOf = (object: JsonObject): Pick<InventoryObject, 'apiVersion' | 'kind' | 'namespace' | 'name'> => {
  const { namespace, name = '' } = metadataOf(object)
  return {
    apiVersion: apiVersionOf(object),
    kind: kindOf(object),
    name,
    ...(namespace !== undefined && namespace !== '' && { namespace }),
  }
}

/** How the object is found by its place alone, without the task. @param headers of requests to an HTTP service */
export const lookupOfEntry = (
  { resource, url, apiVersion = '', kind = '', namespace, name = '' }: InventoryObject,
  headers: Readonly<Record<string, string>> = {},
): Lookup =>
  url === undefined
    ? {
        name: resource,
        identity: { apiVersion, kind, metadata: namespace === undefined ? {} : { namespace } },
        transport: { kind: 'kubernetes' },
        match: { kind: 'name', namespace, name },
      }
    : {
        name: resource,
        identity: {},
        transport: { kind: 'http', url, createUrl: undefined, headers },
        match: { kind: 'self' },
      }

export interface Ownership {
  readonly entries: ReadonlyMap<string, InventoryObject>
  /** Uid of the inventory, which its objects carry. Undefined when nothing is recorded. */
  readonly mark: string | undefined
  /** When the inventory was created, as its API server says. */
  readonly recordedAt?: string | undefined
  readonly adapter: string
  /** Id of the HyperFleet resource. */
  readonly resourceId: string
}

/** The inventory shows that the task has applied this very object for this resource: ADAPTER-64. */
export const isProven = (object: JsonObject, { entries, mark }: Ownership): boolean => {
  const { uid, annotations = {} } = metadataOf(object)
  const entry = entries.get(keyOfObject(object))
  if (entry === undefined) return false
  // Any writer may copy the mark: it counts only as long as the API server has not said which object it is.
  if (entry.uid !== undefined) return entry.uid === uid
  return mark !== undefined && annotations[INVENTORY_ANNOTATION] === mark
}

/** Whether the task has applied it, as far as can be told: ADAPTER-64. */
export const isOwn = (object: JsonObject, ownership: Ownership): boolean =>
  isProven(object, ownership) || isFromEarlierRelease(object, ownership)

/**
 * A release without inventories has applied it, as its labels say. Anyone may write labels, but not when an object was created: what
 * is newer than the inventory was applied with its mark. What is older may have been there before, and was perhaps never applied since.
 */
const isFromEarlierRelease = (
  object: JsonObject,
  { entries, mark, recordedAt, adapter, resourceId }: Ownership,
): boolean => {
  const { labels = {}, annotations = {}, creationTimestamp } = metadataOf(object)
  return (
    annotations[INVENTORY_ANNOTATION] === undefined &&
    entries.get(keyOfObject(object))?.uid === undefined &&
    (mark === undefined || isNotAfter(creationTimestamp, recordedAt)) &&
    labels[ADAPTER_LABEL] === adapter &&
    (labels[RESOURCE_LABEL] === resourceId || idInEvent(annotations[EVENT_ANNOTATION]) === resourceId)
  )
}

/** In whole seconds, as API servers say it. False when one of them is not said. */
const isNotAfter = (time: string | undefined, other: string | undefined): boolean =>
  Date.parse(time ?? '') <= Date.parse(other ?? '')

const idInEvent = (text: string | undefined): string | undefined => {
  try {
    return (JSON.parse(text ?? '{}') as { readonly id?: string }).id
  } catch {
    return undefined
  }
}
