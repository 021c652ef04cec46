import type { KubeObject } from '../model/resource.ts'
import type { EventContext } from './context.ts'
import { ObjectScope } from './object-scope.ts'

/**
 * What the runtime knows about one object beside the object itself; lost when the process ends. Times in milliseconds by the
 * clock's monotonic time. There may be many thousands, so what most never need is made when it is needed.
 */
export interface ObjectState<O extends KubeObject = KubeObject> {
  readonly key: string
  /** As the watch last saw it. */
  object: O
  /** Not handled yet since the run began, and there before it. */
  initial: boolean
  /** Events that the event handlers have not seen; stays empty when there are none. */
  pendingEvents: { readonly type: EventContext<O>['type']; readonly object: O }[] | undefined
  scope: ObjectScope<O>
  memo: Map<string, unknown> | undefined
  /** resourceVersions of our own writes that the watch has not shown yet. */
  ownWrites: Set<string> | undefined
  /** Handlers wait until the watch shows our last write, but not longer than `until`. */
  awaitedWrite: { readonly revision: string; readonly until: number } | undefined
  /**
   * What happened since the handlers last ran, apart from our own writes: by resourceVersion (or an id of a wake-up),
   * whether the declared state changed.
   */
  pendingChanges: Map<string, boolean> | undefined
  /** Our own write came back since the handlers last ran. */
  ownWriteSeen: boolean
  /** A handler failed in this reconcile. */
  handlerFailed: boolean
  /** The declared state changed last, as far as timers with `idle` are concerned. */
  unchangedSince: number
  readonly reconcile: Schedule
  timers: Map<string, Schedule> | undefined
  /** Running daemons by id. */
  daemons: Set<string> | undefined
  /** Daemons that ended well: they are not started again while the object is there and matches. */
  finishedDaemons: Set<string> | undefined
  /** Optional delete handlers were called. */
  deletionHandled: boolean
}

/** A handler that is called again and again. */
export interface Schedule {
  /** When to call it; undefined: not by itself. */
  due: number | undefined
  failures: number
  /** The first call since the last success, milliseconds since the epoch; undefined when there was none. */
  startedAt: number | undefined
}

export const createObjectState = <O extends KubeObject>(
  key: string,
  object: O,
  now: number,
  initial: boolean,
): ObjectState<O> => ({
  key,
  object,
  initial,
  pendingEvents: undefined,
  scope: new ObjectScope(),
  memo: undefined,
  ownWrites: undefined,
  awaitedWrite: undefined,
  pendingChanges: new Map([[object.metadata.resourceVersion, true]]),
  ownWriteSeen: false,
  handlerFailed: false,
  unchangedSince: now,
  reconcile: { due: undefined, failures: 0, startedAt: undefined },
  timers: undefined,
  daemons: undefined,
  finishedDaemons: undefined,
  deletionHandled: false,
})

/** @param changeId the resourceVersion, or what woke us */
export const recordChange = (state: ObjectState, changeId: string, specChanged: boolean): void => {
  state.pendingChanges ??= new Map()
  state.pendingChanges.set(changeId, specChanged)
}
