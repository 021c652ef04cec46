import { type Clock, monotonic } from '../model/clock.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import { apiVersionOf, type KubeObject, type ObjectMeta, type Resource } from '../model/resource.ts'
import { isAtLeastAsNew, isOlder } from '../model/resource-version.ts'
import { type CacheBudget, cacheBudget } from './cache-budget.ts'
import { Collection, type Selection } from './collection.ts'
import { EndMarkTimer } from './end-mark.ts'
import { ApiError } from './errors.ts'
import type { Store } from './store.ts'
import { type ReflectorEvent, SyncedStore } from './synced-store.ts'
import type { Transport } from './transport.ts'
import {
  delayAfter,
  EndMarkMissingError,
  endsInitialEvents,
  failureOf,
  MAX_UNMARKED_STREAMS,
  parseMessage,
  SLOW_LIST_FACTOR,
  StaleListError,
  slowStream,
  stateAfter,
  type WatchFailure,
  type WatchMessage,
  type WatchState,
  watchQuery,
} from './watch.ts'
import { WatchHealth, type WatchHealthOptions } from './watch-health.ts'

export type { ReflectorEvent }

export interface ReflectorOptions<O extends KubeObject> extends Selection, WatchHealthOptions {
  /**
   * What of an object to keep in memory; all but `metadata.managedFields` by default. It must keep `metadata.name`,
   * `namespace`, `uid` and `resourceVersion`.
   */
  readonly transform?: ((object: O) => O) | undefined
  /** Called in order, one at a time, not awaited. What it throws is logged. */
  readonly onEvent: (event: ReflectorEvent<O>) => void
  /** How to list: by WatchList, falling back to pages where there is none (default), or by pages at once. */
  readonly initialList?: 'stream' | 'pages' | undefined
  /** Silence on a watch after which it is taken for dead. Default 70 s, a little more than the time between bookmarks. */
  readonly inactivityTimeout?: Duration | undefined
  /** When the server ends a watch, so that clients spread over its replicas: up to twice as long. Default 290 s. */
  readonly serverTimeout?: Duration | undefined
  readonly clock: Clock
  /** Ends it for good. */
  readonly signal: AbortSignal
  /** In [0, 1); for tests. */
  readonly random?: (() => number) | undefined
  /** What its objects may take of the memory. Default: shared by all of this process. */
  readonly budget?: CacheBudget | undefined
}

export interface Reflector<O extends KubeObject> {
  readonly store: Store<O>
  /** True when the first list is complete, false when the signal came first. Never rejects. */
  readonly synced: Promise<boolean>
  /** The signal has aborted and no event follows. Never rejects. */
  readonly stopped: Promise<void>
}

/**
 * Keeps a store equal to what the API server has, and tells what changes, until the signal aborts. It survives whatever
 * the server and the network do: see `watch.ts` for the protocol. It never rejects, throws or ends the process. RUNTIME-33, RUNTIME-38.
 */
export const reflect = <O extends KubeObject>(
  transport: Transport,
  resource: Resource<O>,
  options: ReflectorOptions<O>,
): Reflector<O> => {
  const { namespace, transform, onEvent, budget = cacheBudget } = options
  const log = options.log.child({
    resource: `${resource.plural}.${apiVersionOf(resource)}`,
    ...(namespace && { namespace }),
  })
  const synced = Promise.withResolvers<boolean>()
  const share = budget.open()
  const objects = new SyncedStore<O>({
    transform,
    log,
    share,
    onEvent: (event) => {
      if (event.type === 'synced') synced.resolve(true)
      onEvent(event)
    },
  })
  const listWatch = new ListWatch(new Collection(transport, resource, options), objects, { ...options, log })
  const stopped = listWatch.run().then(() => {
    share.close()
    synced.resolve(false) // without effect when it was true
  })
  return { store: objects.store, synced: synced.promise, stopped }
}

/** Lists a collection into a store and then follows its changes, again and again. */
class ListWatch<O extends KubeObject> {
  readonly #collection: Collection<O>
  readonly #objects: SyncedStore<O>
  readonly #options: ReflectorOptions<O>
  readonly #health: WatchHealth
  readonly #random: () => number
  #state: WatchState = { phase: 'empty' }
  /** Attempts in a row that brought nothing new. */
  #idle = 0
  /** WatchLists in a row that did not come to their mark. */
  #unmarkedStreams = 0
  /** The time of the last WatchList was over before it was complete. */
  #isListSlow = false
  /** The server may have been another one since it was last heard, or have other data. */
  #isHistoryInDoubt = false
  /** The newest version of all that was heard. */
  #newest: string | undefined
  /** The object whose change was the last of all that the watch told since the list; undefined where that was a deletion, or none. */
  #lastChanged: ObjectMeta | undefined

  constructor(collection: Collection<O>, objects: SyncedStore<O>, options: ReflectorOptions<O>) {
    this.#collection = collection
    this.#objects = objects
    this.#options = options
    this.#health = new WatchHealth(options)
    this.#random = options.random ?? Math.random
  }

  /** Resolves after the signal has aborted. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options
    while (!signal.aborted) {
      const failure = await this.#attempt()
      if (signal.aborted) break
      if (failure === undefined) continue
      const delay = delayAfter(failure, this.#idle, this.#random())
      this.#health.failed(failure, { phase: this.#state.phase, delay })
      this.#state = stateAfter(failure, this.#state)
      if (delay > 0) await clock.sleep(delay, signal)
    }
  }

  /** One request or stream, to its end. */
  async #attempt(): Promise<WatchFailure | undefined> {
    this.#health.beat()
    this.#idle += 1
    try {
      if (this.#isHistoryInDoubt) await this.#compareHistory()
      if (this.#state.phase === 'empty') this.#state = { phase: this.#listPhase() }
      if (this.#state.phase !== 'watching') this.#objects.beginList()
      if (this.#state.phase === 'paging') {
        await this.#listPages()
        return undefined
      }
      if (this.#state.phase === 'streaming') return await this.#streamList()
      await this.#followWatch(this.#watchSeconds())
      return { cause: 'ended' }
    } catch (error) {
      this.#isHistoryInDoubt = true
      return failureOf(error, this.#state)
    }
  }

  #listPhase(): 'streaming' | 'paging' {
    const { initialList = 'stream' } = this.#options
    return initialList === 'stream' && this.#unmarkedStreams < MAX_UNMARKED_STREAMS ? 'streaming' : 'paging'
  }

  async #listPages(): Promise<void> {
    for await (const page of this.#collection.pages()) {
      if (this.#options.signal.aborted) return
      this.#health.heard()
      this.#requireAsNew(page.metadata.resourceVersion)
      for (const item of page.items) this.#objects.put(item)
      if (!page.metadata.continue) this.#endList(page.metadata.resourceVersion)
    }
    this.#idle = 0
  }

  /** A WatchList: when its list is complete it goes on as a watch. RUNTIME-52, RUNTIME-54. */
  async #streamList(): Promise<WatchFailure> {
    using endMark = new EndMarkTimer(this.#options.clock, this.#options.signal)
    const seconds = this.#watchSeconds() * (this.#isListSlow ? SLOW_LIST_FACTOR : 1)
    try {
      const hadItsTime = await this.#followWatch(seconds, endMark)
      if (!endMark.isMissing) return { cause: 'ended' }
      this.#isListSlow = hadItsTime
      return hadItsTime ? slowStream(seconds) : { cause: 'unmarked' }
    } catch (error) {
      if (error instanceof EndMarkMissingError) this.#unmarkedStreams = MAX_UNMARKED_STREAMS
      throw error
    } finally {
      if (endMark.isMissing) this.#unmarkedStreams += 1
    }
  }

  /**
   * A number is no history: a server that was restored may have come to the same one meanwhile. So a watch goes on from the last change
   * that it told only where the server has just that; else everything is listed. RUNTIME-72.
   */
  async #compareHistory(): Promise<void> {
    if (this.#newest === undefined) return
    const last = this.#lastChanged
    const { version, found } = await this.#collection.findNow(last)
    if (this.#state.phase === 'watching') {
      const isSame = last !== undefined && found !== undefined && this.#objects.isAsKnown(found)
      this.#state = isSame ? { phase: 'watching', resourceVersion: last.resourceVersion } : { phase: 'empty' }
    }
    if (isAtLeastAsNew(version, this.#newest)) return
    this.#options.log.info('the API server is behind what it told before: its data were restored', {
      version,
      newest: this.#newest,
    })
    // It was asked for its newest: a list of what it had before is refused from now on as well.
    this.#newest = version
  }

  /** A list as of this version is complete. RUNTIME-74. @throws StaleListError */
  #requireAsNew(resourceVersion: string): void {
    if (this.#newest === undefined || !isOlder(resourceVersion, this.#newest)) return
    throw new StaleListError(resourceVersion, this.#newest)
  }

  #heardOf(resourceVersion: string): string {
    if (this.#newest === undefined || !isOlder(resourceVersion, this.#newest)) this.#newest = resourceVersion
    return this.#newest
  }

  #endList(resourceVersion: string): void {
    this.#objects.endList(resourceVersion)
    this.#heardOf(resourceVersion)
    this.#lastChanged = undefined
    this.#isHistoryInDoubt = false
    this.#state = { phase: 'watching', resourceVersion }
  }

  /** Seconds after which the server is to end a watch. */
  #watchSeconds(): number {
    const { serverTimeout = '290s' } = this.#options
    return Math.round((toMilliseconds(serverTimeout) * (1 + this.#random())) / 1000)
  }

  /** @returns whether the server ended it in its time */
  async #followWatch(seconds: number, endMark?: EndMarkTimer): Promise<boolean> {
    const { clock, signal } = this.#options
    const askedAt = monotonic(clock)
    const lines = this.#collection.watch(watchQuery(this.#state, seconds), {
      signal: endMark?.signal ?? signal,
      onOpen: () => {
        endMark?.opened()
        this.#health.heard()
      },
      onPart: () => {
        this.#health.beat()
        if (this.#state.phase === 'streaming') endMark?.objectCame()
      },
    })
    for await (const line of lines) {
      if (signal.aborted) return true
      this.#health.beat()
      this.#receive(parseMessage<O>(line), line.length, endMark)
    }
    // It lived for as long as it was to: the server was there all the time.
    this.#isHistoryInDoubt = monotonic(clock) - askedAt < (seconds - 1) * 1_000
    return !this.#isHistoryInDoubt
  }

  /** @throws ApiError for an ERROR, CacheFullError */
  #receive(message: WatchMessage<O>, textBytes: number, endMark: EndMarkTimer | undefined): void {
    switch (message.type) {
      case 'ADDED':
        endMark?.objectCame()
        this.#objects.put(message.object, textBytes)
        break
      case 'MODIFIED':
        this.#objects.put(message.object, textBytes)
        break
      case 'DELETED':
        this.#objects.remove(message.object)
        break
      case 'BOOKMARK':
        if (!endsInitialEvents(message.object.metadata)) break
        this.#requireAsNew(message.object.metadata.resourceVersion)
        endMark?.marked()
        this.#unmarkedStreams = 0
        this.#isListSlow = false
        this.#endList(message.object.metadata.resourceVersion)
        break
      case 'ERROR':
        throw new ApiError({ ...message.object, code: message.object.code ?? 500 })
    }
    const newest = this.#heardOf(message.object.metadata.resourceVersion)
    if (this.#state.phase !== 'watching') return
    if (message.type !== 'BOOKMARK' && newest === message.object.metadata.resourceVersion)
      this.#lastChanged = message.type === 'DELETED' ? undefined : message.object.metadata
    // What is told late does not take the watch back.
    this.#state = { phase: 'watching', resourceVersion: newest }
    this.#idle = 0
  }
}
