/** Reads Kubernetes objects that come as plain JSON. */
import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import type { JsonObject } from '../../task/task.ts'

interface Metadata {
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Which generation of the HyperFleet resource an object was applied for; the Go adapter's name. ADAPTER-25. */
export const GENERATION_ANNOTATION = 'hyperfleet.io/generation'

/** Which task applied an object; watches select by it. The name of an adapter is its identity: tasks of one name would report over each other. */
export const ADAPTER_LABEL = 'muster.dev/adapter'
/** Ends in the name of an adapter that applies an object of another adapter too; its watches select by it. ADAPTER-88. */
const SHARED_LABEL_PREFIX = 'shared.muster.dev/'
/** Uid of the inventory that has the object: which other objects it could be taken for, the inventory decides. ADAPTER-64. */
export const INVENTORY_ANNOTATION = 'muster.dev/inventory'
/** What earlier releases wrote in the place of an inventory: the resource, as an event about it would say. Read only where there is no inventory. */
export const EVENT_ANNOTATION = 'muster.dev/event'

const STAMPS: readonly string[] = [GENERATION_ANNOTATION, ADAPTER_LABEL, RESOURCE_LABEL, INVENTORY_ANNOTATION]

export const metadataOf = (object: JsonObject): Metadata => (object.metadata ?? {}) as Metadata

/** '' when it does not say. */
export const kindOf = ({ kind }: JsonObject): string => (typeof kind === 'string' ? kind : '')
export const apiVersionOf = ({ apiVersion }: JsonObject): string => (typeof apiVersion === 'string' ? apiVersion : '')

/** It is deleted and waits for a finalizer. */
export const isTerminating = (object: JsonObject): boolean => metadataOf(object).deletionTimestamp !== undefined

/** The generation it was applied for; 0 when it does not say. */
export const generationOf = (object: JsonObject): number => {
  const generation = Number(metadataOf(object).annotations?.[GENERATION_ANNOTATION])
  return Number.isFinite(generation) ? generation : 0
}

/** On an object that the adapter was about to leave, for one apply: ADAPTER-124. */
export const resumedAnnotation = (adapter: string): string => `resumed.muster.dev/${adapter}`

/** On another adapter's object: this adapter applies it too, also when it adds nothing else. */
export const sharedLabel = (adapter: string): string => `${SHARED_LABEL_PREFIX}${adapter}`

/** Without what says whose it is, with what says that the adapter has it too: another task's object, to which this one adds its fields. */
export const asShared = (object: JsonObject, adapter: string): JsonObject => {
  const { labels = {}, annotations = {} } = metadataOf(object)
  const without = (entries: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !STAMPS.includes(key)))
  const own = { labels: { ...without(labels), [sharedLabel(adapter)]: '' }, annotations: without(annotations) }
  return { ...object, metadata: { ...(object.metadata as JsonObject), ...own } }
}

/** An apply of it changes this very object, and makes none. Kubernetes: a uid in a manifest is a precondition. */
export const withUid = (object: JsonObject, uid: string | undefined): JsonObject =>
  uid === undefined ? object : { ...object, metadata: { ...(object.metadata as JsonObject), uid } }

/** `ConfigMap default/c-1`, for people. */
export const describeObject = (object: JsonObject): string => {
  const { name = '', namespace } = metadataOf(object)
  return `${kindOf(object) || 'object'} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

/** Of several matches the one that speaks for the resource: the newest generation, then the first name. */
export const pickLatest = (objects: readonly JsonObject[]): JsonObject | undefined =>
  objects.toSorted(
    (a, b) => generationOf(b) - generationOf(a) || (metadataOf(a).name ?? '').localeCompare(metadataOf(b).name ?? ''),
  )[0]
