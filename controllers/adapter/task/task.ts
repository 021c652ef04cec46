/** A task as the phases work with it: checked, with every default filled in and every text compiled. */
import type { Budgeted } from '../run/run-budget.ts'

/** Values by variable name, as JSON has them. */
export type Scope = Readonly<Record<string, unknown>> & Budgeted

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** A compiled CEL expression. */
export interface Expression {
  readonly text: string
  /** The variables that it names. */
  readonly variables: readonly string[]
  /** The value as JSON. @throws TaskError when it has none for these values: never the same as false */
  evaluate(scope: Scope): Json
}

/** A compiled template. */
export interface Template {
  readonly text: string
  /** The variables that it names. */
  readonly variables: readonly string[]
  /** @throws TaskError when a variable or key is missing */
  render(scope: Scope): string
}

/** A document whose texts are templates: a manifest, or the build of a payload. */
export interface DocumentTemplate {
  /** @throws TaskError */
  build(scope: Scope): Json
}

/** What a resource is to be. */
export interface Manifest extends DocumentTemplate {
  /** Only what says which object it is: apiVersion, kind and metadata.namespace, and more where these can't be told apart from it. */
  readonly identity: DocumentTemplate
}

/** Takes a value out of another one; undefined when there is none, a list when there are several. */
export interface FieldPath {
  readonly text: string
  /** @param scope of the run that takes it. @throws TaskError */
  take(from: unknown, scope: Scope): unknown
}

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: Template
  readonly headers: readonly Header[]
  readonly body: Template | undefined
  readonly retry: Retry
}

export interface Header {
  readonly name: string
  readonly value: Template
}

/** How a request is tried again. Times in milliseconds. */
export interface Retry {
  /** Tries in all, at least 1. */
  readonly attempts: number
  readonly backoff: 'exponential' | 'linear' | 'constant'
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** Of one try; undefined: the default of the API. */
  readonly timeoutMs: number | undefined
}

export type ParamType = 'string' | 'int' | 'int64' | 'float' | 'float64' | 'bool'

export type ParamSource =
  | { readonly kind: 'path'; readonly path: readonly string[] }
  | { readonly kind: 'env'; readonly variable: string }
  | { readonly kind: 'file'; readonly path: string; readonly trim: boolean }
  | { readonly kind: 'expression'; readonly expression: Expression }
  | { readonly kind: 'apiCall'; readonly call: ApiCall }

export interface Param {
  readonly name: string
  readonly source: ParamSource
  readonly type: ParamType | undefined
  readonly default: Json | undefined
  readonly required: boolean
}

export interface Capture {
  readonly name: string
  readonly from:
    | { readonly kind: 'field'; readonly path: FieldPath }
    | { readonly kind: 'expression'; readonly expression: Expression }
  readonly default: Json | undefined
}

export type Operator =
  | 'equals'
  | 'notEquals'
  | 'in'
  | 'notIn'
  | 'contains'
  | 'greaterThan'
  | 'greaterThanOrEqual'
  | 'lessThan'
  | 'lessThanOrEqual'
  | 'exists'
  | 'notExists'

export interface Condition {
  readonly field: FieldPath
  readonly operator: Operator
  readonly value: Json | undefined
}

export interface LogLine {
  readonly message: Template
  readonly level: 'debug' | 'info' | 'warn' | 'error'
}

export interface Precondition {
  readonly name: string
  readonly call: ApiCall | undefined
  readonly captures: readonly Capture[]
  readonly conditions: readonly Condition[]
  readonly expression: Expression | undefined
  readonly log: LogLine | undefined
}

export interface Discovery {
  /** Undefined: wherever the manifest says, or everywhere for labels. */
  readonly namespace: Template | undefined
  readonly by:
    | { readonly kind: 'name'; readonly name: Template }
    | { readonly kind: 'labels'; readonly labels: Readonly<Record<string, Template>> }
}

export interface NestedDiscovery {
  readonly name: string
  readonly discovery: Discovery
}

/** How a resource is reached. */
export type TransportSpec =
  | { readonly kind: 'kubernetes' }
  /** A ManifestWork in the namespace of the cluster that it is for. */
  | { readonly kind: 'maestro'; readonly targetCluster: Template }
  | {
      readonly kind: 'http'
      readonly url: Template
      readonly createUrl: Template | undefined
      readonly headers: readonly Header[]
    }

/** Kubernetes: metav1.DeletionPropagation. */
export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan'

export interface TaskResource {
  readonly name: string
  readonly transport: TransportSpec
  readonly manifest: Manifest
  /** Undefined for http, where the URL says it. */
  readonly discovery: Discovery | undefined
  readonly nested: readonly NestedDiscovery[]
  readonly recreateOnChange: boolean
  /** What its discovery finds is the task's, whether the task has applied it or not. */
  readonly adopt: boolean
  readonly createWhen: Expression | undefined
  readonly deleteWhen: Expression | undefined
  readonly policy: PropagationPolicy
  readonly after: readonly string[] | undefined
}

export interface Payload {
  readonly name: string
  readonly when: Expression | undefined
  readonly build: DocumentTemplate
  /** Instead of `build` in deletion mode. */
  readonly whenDeleting: DocumentTemplate | undefined
}

export interface PostAction {
  readonly name: string
  readonly when: Expression | undefined
  readonly log: LogLine | undefined
  readonly call: ApiCall | undefined
  /** Payloads that its request uses: without one of them it is skipped. */
  readonly payloads: readonly string[]
}

export interface Task {
  readonly adapter: { readonly name: string; readonly version: string }
  readonly params: readonly Param[]
  readonly preconditions: readonly Precondition[]
  /** Undefined: the resource of the event has a deleted_time. */
  readonly whenDeleting: Expression | undefined
  readonly resources: readonly TaskResource[]
  readonly payloads: readonly Payload[]
  readonly postActions: readonly PostAction[]
}
