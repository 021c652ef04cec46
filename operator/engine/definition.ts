import type { DeclaredState } from '../model/declared-state.ts'
import type { Filters } from '../model/filters.ts'
import type { RetryPolicy } from '../model/outcome.ts'
import type { KubeObject, Resource } from '../model/resource.ts'
import type {
  AdmissionContext,
  ChangeContext,
  Context,
  DaemonContext,
  EventContext,
  MayWait,
  SourceContext,
} from './context.ts'
import type { DeclaredIndex } from './indexes.ts'
import type { ChangeProgress } from './progress.ts'
import type { ObjectStorage, StorageKind } from './storage.ts'

/*
 * What a controller declares, as plain data for the engine. Functions are methods here, which makes a Definition of one
 * kind usable where any kind is expected: the engine only ever gives a controller objects of its own kind.
 */

interface Registered<O extends KubeObject> {
  readonly id: string
  readonly filters: Filters<O>
}

export interface ChangeHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  readonly on: 'create' | 'update' | 'delete' | 'resume' | 'field'
  /** For 'field' only: where in the declared state. */
  readonly field: readonly string[]
  /** For 'delete' only: no finalizer is added for it. */
  readonly optional: boolean
  readonly policy: RetryPolicy
  run(context: ChangeContext<O>): Promise<MayWait> | MayWait
}

export interface EventHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  run(context: EventContext<O>): Promise<void> | void
}

export interface ReconcileHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  readonly policy: RetryPolicy
  run(context: Context<O>): Promise<MayWait> | MayWait
}

export interface TimerHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  readonly policy: RetryPolicy
  /** Milliseconds. */
  readonly every: number
  readonly idle: number
  readonly initialDelay: number
  readonly sharp: boolean
  run(context: Context<O>): Promise<void> | void
}

export interface DaemonHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  readonly policy: RetryPolicy
  lease(object: O): { readonly name: string; readonly namespace: string } | undefined
  run(context: DaemonContext<O>): Promise<void> | void
}

/** Wakes objects for reasons that are not in Kubernetes. */
export interface SourceHandler {
  readonly id: string
  run(context: SourceContext): Promise<void> | void
}

export interface AdmissionHandler<O extends KubeObject = KubeObject> extends Registered<O> {
  run(context: AdmissionContext<O>): Promise<void> | void
}

export interface Watched<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>
  readonly labelSelector: string | undefined
  /** In all namespaces, whichever ones the controller's own kind is watched in. */
  readonly everywhere: boolean
  readonly indexes: readonly DeclaredIndex<T>[]
  transform?(object: T): T
  map(object: T): Iterable<{ readonly name: string; readonly namespace?: string }>
}

export interface Definition<O extends KubeObject = KubeObject> {
  readonly name: string
  readonly resource: Resource<O>
  readonly finalizer: string
  readonly concurrency: number | undefined
  transform?(object: O): O
  readonly progress: StorageKind | ObjectStorage<ChangeProgress>
  readonly diffBase: StorageKind | ObjectStorage<DeclaredState>
  readonly changes: readonly ChangeHandler<O>[]
  readonly events: readonly EventHandler<O>[]
  readonly reconcile: ReconcileHandler<O> | undefined
  readonly timers: readonly TimerHandler<O>[]
  readonly daemons: readonly DaemonHandler<O>[]
  readonly indexes: readonly DeclaredIndex<O>[]
  readonly watches: readonly Watched[]
  readonly sources: readonly SourceHandler[]
  readonly validators: readonly AdmissionHandler<O>[]
  readonly mutators: readonly AdmissionHandler<O>[]
}
