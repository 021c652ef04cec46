/** What a run did, as data: shown by a dry run, kept by the manager. Values from the environment and from files are left out. */

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

export type RunStatus = 'success' | 'failed' | 'skipped'
export type Mode = 'apply' | 'delete'

/** Stands for a value that must not be shown. */
export const HIDDEN = '(hidden)'

export interface TracedParam {
  readonly name: string
  /** Undefined when it has none. */
  readonly value?: Json | undefined
}

export interface TracedPrecondition {
  readonly name: string
  readonly met: boolean
  /** Why it is not met. */
  readonly message?: string
  readonly captured?: Readonly<Record<string, Json>>
}

export type ResourceAction =
  /** It is as the manifest says now. */
  | 'applied'
  /** It was deleted to be created anew, and is not gone yet. */
  | 'recreating'
  | 'recreated'
  /** Its own condition keeps it from being created. */
  | 'skipped'
  | 'deleted'
  /** It was asked to go and is still there. */
  | 'leaving'
  /** Others have to go first, or its own condition is not true yet. */
  | 'waiting'
  /** There was nothing to delete. */
  | 'gone'
  /** It was looked at and nothing was done. */
  | 'kept'
  | 'failed'

export interface TracedResource {
  readonly name: string
  readonly action: ResourceAction
  /** `ConfigMap default/c-1`, or a URL. */
  readonly object?: string
  readonly message?: string
}

export interface TracedPayload {
  readonly name: string
  readonly skipped: boolean
  readonly value?: Json
}

export interface TracedAction {
  readonly name: string
  readonly status: 'done' | 'skipped' | 'unchanged' | 'failed'
  readonly message?: string
}

export interface TracedRequest {
  readonly method: string
  readonly url: string
  /** Of the last answer; undefined when there was no answer. */
  readonly status: number | undefined
  readonly attempts: number
}

/** Where and why a run failed first; `adapter.executionError` of expressions. */
export interface TracedFailure {
  readonly phase: Phase
  /** Name of the param, precondition, resource, payload or action; '' when it is none of them. */
  readonly step: string
  readonly reason: string
  readonly message: string
}

export type Phase = 'params' | 'preconditions' | 'resources' | 'payloads' | 'post_actions'

export interface Trace {
  readonly event: Json
  readonly status: RunStatus
  readonly mode: Mode | undefined
  /** Why the resources were skipped. */
  readonly skipReason?: string
  readonly failures: readonly TracedFailure[]
  readonly params: readonly TracedParam[]
  readonly preconditions: readonly TracedPrecondition[]
  readonly resources: readonly TracedResource[]
  readonly payloads: readonly TracedPayload[]
  readonly actions: readonly TracedAction[]
  readonly requests: readonly TracedRequest[]
  /** The standard report, where it was sent. */
  readonly report?: Json
  /** RFC 3339, UTC. */
  readonly startedAt: string
  /** Milliseconds. */
  readonly duration: number
}
