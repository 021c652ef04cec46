import type { KubeObject } from '../model/resource.ts'
import type { EventContext } from './context.ts'
import { Life } from './life.ts'

/**
 * What a run knows about one object beside the object itself; lost when the process ends. Times in milliseconds by the
 * clock's monotonic time. There may be many thousands, so what most never need is made when it is needed.
 */
export interface Tended<O extends KubeObject = KubeObject> {
  readonly key: string
  /** As the watch last saw it. */
  object: O
  /** Not handled yet since the run began, and there before it. */
  initial: boolean
  /** Events that the event handlers have not seen; stays empty when there are none. */
  unseen: { readonly type: EventContext<O>['type']; readonly object: O }[] | undefined
  life: Life<O>
  memo: Map<string, unknown> | undefined
  /** resourceVersions of our own writes that the watch has not shown yet. */
  written: Set<string> | undefined
  /** Handlers wait until the watch shows our last write, but not longer than `until`. */
  awaiting: { readonly revision: string; readonly until: number } | undefined
  /**
   * What happened since the handlers last ran, apart from our own writes: by resourceVersion (or a mark for a wake-up),
   * whether the essence changed.
   */
  news: Map<string, boolean> | undefined
  /** Our own write came back since the handlers last ran. */
  echoed: boolean
  /** A handler failed in the pass at hand. */
  failed: boolean
  /** The essence changed last, as far as timers with `idle` are concerned. */
  quietSince: number
  readonly reconcile: Recurring
  timers: Map<string, Recurring> | undefined
  /** Running daemons by id. */
  daemons: Set<string> | undefined
  /** Daemons that ended well: they are not started again while the object is there and matches. */
  finishedDaemons: Set<string> | undefined
  /** Optional delete handlers were called. */
  deletionSeen: boolean
}

/** A handler that is called again and again. */
export interface Recurring {
  /** When to call it; undefined: not by itself. */
  due: number | undefined
  failures: number
  /** The first call since the last success, milliseconds since the epoch; undefined when there was none. */
  startedAt: number | undefined
}

export const tend = <O extends KubeObject>(key: string, object: O, now: number, initial: boolean): Tended<O> => ({
  key,
  object,
  initial,
  unseen: undefined,
  life: new Life(),
  memo: undefined,
  written: undefined,
  awaiting: undefined,
  news: new Map([[object.metadata.resourceVersion, true]]),
  echoed: false,
  failed: false,
  quietSince: now,
  reconcile: { due: undefined, failures: 0, startedAt: undefined },
  timers: undefined,
  daemons: undefined,
  finishedDaemons: undefined,
  deletionSeen: false,
})

/** @param mark the resourceVersion, or what woke us */
export const noteNews = (tended: Tended, mark: string, redeclared: boolean): void => {
  tended.news ??= new Map()
  tended.news.set(mark, redeclared)
}
