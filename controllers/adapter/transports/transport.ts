/** How resources are reached: one interface for the Kubernetes API, for HTTP services and for dry runs. */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'
import { kindOf } from '../run/resources/object.ts'
import type { JsonObject, PropagationPolicy } from '../task/task.ts'

/** A resource of a task, rendered for one HyperFleet resource as far as it takes to find and delete it. */
export interface Lookup {
  /** Its name in the task. */
  readonly name: string
  /** apiVersion, kind and metadata.namespace; of an HTTP service nothing. */
  readonly identity: JsonObject
  readonly transport:
    | { readonly kind: 'kubernetes' }
    | {
        readonly kind: 'http'
        readonly url: string
        readonly createUrl: string | undefined
        readonly headers: Readonly<Record<string, string>>
      }
  readonly match: ObjectMatch
}

/** A resource of a task, rendered as a whole. */
export interface Target extends Lookup {
  /** What is applied, with our labels and annotations. */
  readonly manifest: JsonObject
  /** Uid of the object that the task has applied before, as its inventory says. */
  readonly recordedUid?: string | undefined
  /** What the inventory has of other tasks that have it. */
  readonly share?: InventoryObject['share'] | undefined
  /** Told when another task has it, or may have it: ADAPTER-122. */
  readonly onShared?: (share: NonNullable<InventoryObject['share']>) => void
}

/** How it is found again. The namespace is undefined where the kind has none, or all of them are looked in. */
export type ObjectMatch =
  | { readonly kind: 'name'; readonly namespace: string | undefined; readonly name: string }
  | {
      readonly kind: 'labels'
      readonly namespace: string | undefined
      readonly labels: Readonly<Record<string, string>>
    }
  /** The one that the URL names. */
  | { readonly kind: 'self' }

/** Of the Kubernetes API. */
export type NamedMatch = Exclude<ObjectMatch, { readonly kind: 'self' }>

/** Which object it is, for people: `ConfigMap n/settings`, `ConfigMap app=x`, or its URL. */
export const describeLookup = ({ identity, transport, match }: Lookup): string => {
  if (transport.kind === 'http') return transport.url
  const kind = kindOf(identity)
  if (match.kind === 'self') return kind
  const within = match.namespace === undefined ? '' : `${match.namespace}/`
  return `${kind} ${within}${match.kind === 'name' ? match.name : formatLabelSelector(match.labels)}`
}

/** As Kubernetes writes it. */
export const formatLabelSelector = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')

/** The object that the inventory has is there no more: under its name is none, or another one. Nothing was applied. ADAPTER-120. */
export class ObjectReplacedError extends errorOf(ADAPTER_ERRORS, 'ObjectReplacedError') {}

/** Every method throws TaskError, or the signal's reason. */
export interface ResourceTransport {
  /**
   * Makes it as the manifest says, whether it is there or not; what it is then. What others wrote beside it stays.
   * @throws ObjectReplacedError when an object was applied before, and it is not that one
   */
  apply(target: Target, signal: AbortSignal): Promise<JsonObject>
  /** Everything that the finding matches; nothing is an empty list. */
  find(lookup: Lookup, signal: AbortSignal): Promise<readonly JsonObject[]>
  /**
   * Asks for the deletion of this very object, not of a later one of the same name. Done as well when there is none.
   * @param isShared other tasks are asked whether they have it
   */
  delete(
    lookup: Lookup,
    object: JsonObject,
    policy: PropagationPolicy,
    signal: AbortSignal,
    isShared?: boolean,
  ): Promise<DeletionOutcome>
  /** It looks as if another task had the object; none does when left out. */
  isShared?(object: JsonObject): boolean
}

/**
 * `gone`: the server says that it is there no more. `asked`: it may be there for a while. `left`: another task applies it too, and it is that one's alone from now on, ADAPTER-88. `changed`: not in the state in which it was seen:
 * another one may have it by now.
 */
export type DeletionOutcome = 'gone' | 'asked' | 'left' | 'changed'

export type ResourceTransports = Readonly<Record<Lookup['transport']['kind'], ResourceTransport>>
