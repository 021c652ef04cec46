import type { Diff } from '#lib/json/diff.ts'
import type { Api } from '../client/api.ts'
import type { EventRecorder } from '../client/events.ts'
import type { Clock } from '../model/clock.ts'
import type { DeclaredState } from '../model/declared-state.ts'
import type { Duration } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import type { DeepPartial, KubeObject, Resource } from '../model/resource.ts'
import type { WatchProblem } from './watch-problems.ts'

/** Changes to the object, recorded now and sent once when the handlers return: the object and `/status` apart. Nothing is sent when nothing differs. */
export interface Patch<O extends KubeObject> {
  /** A merge patch (RFC 7386): null removes a field, a list replaces the list. */
  merge(part: DeepPartial<O>): void
  /** The same for `status`. */
  status(part: DeepPartial<NonNullable<O['status']>>): void
  /**
   * An edit that depends on what is there, such as adding to a list. It is guarded by resourceVersion and made again
   * on a newer object when another writer was faster, so it may run several times.
   */
  edit(edit: (draft: Writable<O>) => void): void
}

/** The same object, writable at every depth. */
export type Writable<T> = T extends object ? { -readonly [K in keyof T]: Writable<T[K]> } : T

/** What every handler is given. */
export interface Context<O extends KubeObject> {
  /** As the watch last saw it. */
  readonly object: O
  readonly name: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  readonly spec: O['spec']
  readonly status: O['status']
  readonly patch: Patch<O>
  /** Failed calls so far, and when the first call of this attempt was. */
  readonly retry: { readonly count: number; readonly startedAt: Date }
  readonly log: Logger
  readonly events: EventRecorder
  /** Kept per object while this process looks after it; shared by all handlers of the controller. */
  readonly memo: Map<string, unknown>
  /** Aborts when the object is deleted or filtered out, leadership is lost, or the operator stops. */
  readonly signal: AbortSignal
  readonly api: Api
  readonly clock: Clock
}

/** For handlers of a change: what it is. `object` is what is true now, which may already be newer. */
export interface ChangeContext<O extends KubeObject> extends Context<O> {
  /** What was handled last; undefined when nothing was. */
  readonly old: DeclaredState<O> | undefined
  readonly new: DeclaredState<O>
  /** From `old` to `new`; for field handlers only what touches the field. */
  readonly diff: Diff
}

/** For handlers of raw events. 'listed' are the objects found at the start, or after a gap in the watch. */
export interface EventContext<O extends KubeObject> extends Context<O> {
  readonly type: 'listed' | 'added' | 'modified' | 'deleted'
}

/** For daemons: `object`, `spec` and `status` are read anew on every access. */
export interface DaemonContext<O extends KubeObject> extends Context<O> {
  /** Sends what is recorded on `patch` so far: a daemon does not return to have it sent. @throws ApiError */
  send(): Promise<void>
}

/** Is told of the objects of a kind, as client-go's ResourceEventHandler. */
export interface ObjectListener<T extends KubeObject> {
  /** It is there, as it is here. */
  seen(object: T): void
  /** As it was seen last. */
  deleted(object: T): void
  /** Why the kind can't be watched at the moment; undefined when it can be watched again. What was seen stays. */
  watchProblem(problem: WatchProblem | undefined): void
}

/** For sources: what wakes objects for reasons that are not in Kubernetes. */
export interface SourceContext {
  /** Reconciles this object; does nothing when there is none. */
  wake(object: { readonly name: string; readonly namespace?: string | undefined }): void
  /**
   * Tells of the objects of a kind that the controller watches, its own or another: at once of those that are there, then of every
   * change, in order and before the handlers that it calls, until the signal aborts. RUNTIME-73.
   * @throws TypeError for a kind that the controller doesn't watch
   */
  follow<T extends KubeObject>(resource: Resource<T>, listener: ObjectListener<T>): void
  readonly log: Logger
  /** Aborts when leadership is lost or the operator stops. */
  readonly signal: AbortSignal
  readonly api: Api
  readonly clock: Clock
}

/** For validate and mutate handlers. `patch` works in mutate only; `status` is ignored by the API server there. */
export interface AdmissionContext<O extends KubeObject> {
  readonly object: O
  /** The object before; undefined for CREATE. */
  readonly old: O | undefined
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly dryRun: boolean
  readonly subresource: string | undefined
  readonly user: { readonly username: string; readonly groups: readonly string[] }
  /** Shown to the user that made the request. */
  readonly warnings: string[]
  readonly patch: Pick<Patch<O>, 'merge' | 'edit'>
  readonly log: Logger
}

/** Returned by a handler that waits for something: not a failure, so it is not counted as a retry. */
export interface Wait {
  readonly requeueAfter: Duration
}

// biome-ignore lint/suspicious/noConfusingVoidType: an async function without a return gives Promise<void>, and is meant
export type MayWait = Wait | void

export type Handler<C, R = void> = (context: C) => R | Promise<R>
