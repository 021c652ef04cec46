import type { KubeObject } from '../model/resource.ts'
import type { EventContext } from './context.ts'
import { beginLife, type Life } from './life.ts'

/** What a run knows about one object beside the object itself; lost when the process ends. Times in milliseconds since the epoch. */
export interface Tended<O extends KubeObject = KubeObject> {
  readonly key: string
  /** As the watch last saw it. */
  object: O
  /** Not handled yet since the run began, and there before it. */
  initial: boolean
  /** Events that the event handlers have not seen; stays empty when there are none. */
  readonly unseen: { readonly type: EventContext<O>['type']; readonly object: O }[]
  life: Life<O>
  readonly memo: Map<string, unknown>
  /** resourceVersions of our own writes that the watch has not shown yet. */
  readonly written: Set<string>
  /** Handlers wait until the watch shows our last write, but not longer than `until`. */
  awaiting: { readonly revision: string; readonly until: number } | undefined
  /**
   * What happened since the handlers last ran, apart from our own writes: by resourceVersion (or a mark for a wake-up),
   * whether the essence changed.
   */
  news: Map<string, boolean>
  /** Our own write came back since the handlers last ran. */
  echoed: boolean
  /** A handler failed in the pass at hand. */
  failed: boolean
  /** The essence changed last, as far as timers with `idle` are concerned. */
  quietSince: number
  readonly reconcile: Recurring
  readonly timers: Map<string, Recurring>
  /** Running daemons by id. */
  readonly daemons: Set<string>
  /** Daemons that ended well: they are not started again while the object is there and matches. */
  readonly finishedDaemons: Set<string>
  /** Optional delete handlers were called. */
  deletionSeen: boolean
}

/** A handler that is called again and again. */
export interface Recurring {
  /** When to call it; undefined: not by itself. */
  due: number | undefined
  failures: number
  /** The first call since the last success; undefined when there was none. */
  startedAt: number | undefined
}

export const tend = <O extends KubeObject>(key: string, object: O, now: number, initial: boolean): Tended<O> => ({
  key,
  object,
  initial,
  unseen: [],
  life: beginLife(),
  memo: new Map(),
  written: new Set(),
  awaiting: undefined,
  news: new Map([[object.metadata.resourceVersion, true]]),
  echoed: false,
  failed: false,
  quietSince: now,
  reconcile: { due: undefined, failures: 0, startedAt: undefined },
  timers: new Map(),
  daemons: new Set(),
  finishedDaemons: new Set(),
  deletionSeen: false,
})
