/** How resources are reached: one interface for the Kubernetes API, for HTTP services and for dry runs. */
import type { JsonObject, PropagationPolicy } from '../task/form.ts'

/** A resource of a task, rendered for one HyperFleet resource. */
export interface Target {
  /** Its name in the task. */
  readonly name: string
  /** What is applied, with our labels and annotations. */
  readonly manifest: JsonObject
  readonly reach:
    | { readonly kind: 'kubernetes' }
    | {
        readonly kind: 'http'
        readonly url: string
        readonly createUrl: string | undefined
        readonly headers: Readonly<Record<string, string>>
      }
  readonly find: Finding
}

/** How it is found again. The namespace is undefined where the kind has none, or all of them are looked in. */
export type Finding =
  | { readonly kind: 'name'; readonly namespace: string | undefined; readonly name: string }
  | {
      readonly kind: 'labels'
      readonly namespace: string | undefined
      readonly labels: Readonly<Record<string, string>>
    }
  /** The one that the URL names. */
  | { readonly kind: 'self' }

/** Every method throws TaskError, or the signal's reason. */
export interface Transport {
  /** Makes it as the manifest says, whether it is there or not; what it is then. What others wrote beside it stays. */
  apply(target: Target, signal: AbortSignal): Promise<JsonObject>
  /** Everything that the target's finding matches; nothing is an empty list. */
  find(target: Target, signal: AbortSignal): Promise<readonly JsonObject[]>
  /** Asks for the deletion of this very object, not of a later one of the same name. Done as well when there is none. */
  delete(target: Target, object: JsonObject, policy: PropagationPolicy, signal: AbortSignal): Promise<void>
}

export type Transports = Readonly<Record<Target['reach']['kind'], Transport>>
