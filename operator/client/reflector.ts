import { type Clock, monotonic } from '../model/clock.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
import type { Page } from './api.ts'
import { readPageThatFits } from './bounded-text.ts'
import { type CacheBudget, cacheBudget } from './cache-budget.ts'
import { EndMarkTimer } from './end-mark.ts'
import { ApiError } from './errors.ts'
import type { Store } from './store.ts'
import { createSyncedStore, type ReflectorEvent } from './synced-store.ts'
import type { Transport } from './transport.ts'
import {
  delayAfter,
  describe,
  EndMarkMissingError,
  endsInitialEvents,
  failureOf,
  MAX_UNMARKED_STREAMS,
  parseMessage,
  SLOW_LIST_FACTOR,
  slowStream,
  stateAfter,
  type WatchFailure,
  type WatchState,
  watchQuery,
} from './watch.ts'

export type { ReflectorEvent }

export interface ReflectorOptions<O extends KubeObject> {
  /** All namespaces when undefined. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /**
   * What of an object to keep in memory; all but `metadata.managedFields` by default. It must keep `metadata.name`,
   * `namespace`, `uid` and `resourceVersion`.
   */
  readonly transform?: ((object: O) => O) | undefined
  /** Called in order, one at a time, not awaited. What it throws is logged. */
  readonly onEvent: (event: ReflectorEvent<O>) => void
  /** Called whenever the server is heard or asked, for liveness checks. */
  readonly beat?: (() => void) | undefined
  /** Told about every failure, and `undefined` when the server is heard again after one. Without it failures are logged. */
  readonly onHealth?: ((failure: WatchFailure | undefined) => void) | undefined
  /** How to list: by WatchList, falling back to pages where there is none (default), or by pages at once. */
  readonly initialList?: 'stream' | 'pages' | undefined
  /** Silence on a watch after which it is taken for dead. Default 70 s, a little more than the time between bookmarks. */
  readonly inactivityTimeout?: Duration | undefined
  /** When the server ends a watch, so that clients spread over its replicas: up to twice as long. Default 290 s. */
  readonly serverTimeout?: Duration | undefined
  readonly clock: Clock
  readonly log: Logger
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

const PAGE_SIZE = 500

/**
 * Keeps a store equal to what the API server has, and tells what changes, until the signal aborts. It survives whatever
 * the server and the network do: see `watch.ts` for the protocol. It never rejects, throws or ends the process. RUNTIME-33, RUNTIME-38.
 */
export const reflect = <O extends KubeObject>(
  transport: Transport,
  resource: Resource<O>,
  options: ReflectorOptions<O>,
): Reflector<O> => {
  const { namespace, labelSelector, fieldSelector, clock, signal, inactivityTimeout, random = Math.random } = options
  const { transform, onEvent, initialList = 'stream', serverTimeout = '290s', beat = () => {} } = options
  const { budget = cacheBudget } = options
  const log = options.log.child({
    resource: `${resource.plural}.${apiVersionOf(resource)}`,
    ...(namespace && { namespace }),
  })
  const path = pathOf(resource, { namespace })
  const selectors = { labelSelector, fieldSelector }
  const synced = Promise.withResolvers<boolean>()

  const share = budget.open()
  const syncedStore = createSyncedStore<O>({
    transform,
    log,
    share,
    onEvent: (event) => {
      if (event.type === 'synced') synced.resolve(true)
      onEvent(event)
    },
  })

  let state: WatchState = { phase: 'empty' }
  /** Attempts in a row that brought nothing new. */
  let idle = 0
  let failing = false
  /** WatchLists in a row that did not come to their mark. */
  let unmarkedStreams = 0
  /** The time of the last WatchList was over before it was complete. */
  let isListSlow = false
  /** Smaller once a page was too large. */
  const pages = { size: PAGE_SIZE }
  /** The server may have been another one since it was last heard. */
  let isHistoryInDoubt = false

  const report = (failure: WatchFailure | undefined): void => {
    try {
      options.onHealth?.(failure)
    } catch (error) {
      log.error('a watch health handler threw, the watch goes on', { err: error })
    }
  }

  const heard = (): void => {
    beat()
    if (failing) report(undefined)
    failing = false
  }

  const failed = (failure: WatchFailure, delay: number): void => {
    failing = true
    report(failure)
    if (options.onHealth !== undefined) return
    const [level, message] = describe(failure)
    log[level](message, { phase: state.phase, delay })
  }

  const listed = (resourceVersion: string): void => {
    syncedStore.endList()
    state = { phase: 'watching', resourceVersion }
  }

  /** @returns whether the server ended it in its time */
  const followWatch = async (seconds: number, endMark?: EndMarkTimer): Promise<boolean> => {
    const query = { ...selectors, ...watchQuery(state, seconds) }
    const until = endMark?.signal ?? signal
    const askedAt = monotonic(clock)
    isHistoryInDoubt = true
    const opened = () => {
      endMark?.opened()
      heard()
    }
    const onPart = () => {
      beat()
      if (state.phase === 'streaming') endMark?.objectCame()
    }
    for await (const line of transport.stream({
      path,
      query,
      signal: until,
      inactivityTimeout,
      onOpen: opened,
      onPart,
    })) {
      if (signal.aborted) return true
      beat()
      const message = parseMessage<O>(line)
      switch (message.type) {
        case 'ADDED':
          endMark?.objectCame()
          syncedStore.put(message.object, line.length)
          break
        case 'MODIFIED':
          syncedStore.put(message.object, line.length)
          break
        case 'DELETED':
          syncedStore.remove(message.object)
          break
        case 'BOOKMARK':
          if (!endsInitialEvents(message.object.metadata)) break
          endMark?.marked()
          unmarkedStreams = 0
          isListSlow = false
          listed(message.object.metadata.resourceVersion)
          break
        case 'ERROR':
          throw new ApiError({ ...message.object, code: message.object.code ?? 500 })
      }
      if (state.phase === 'watching') {
        state = { phase: 'watching', resourceVersion: message.object.metadata.resourceVersion }
        idle = 0
      }
    }
    // It lived for as long as it was to: the server was there all the time.
    isHistoryInDoubt = monotonic(clock) - askedAt < (seconds - 1) * 1_000
    return !isHistoryInDoubt
  }

  /** Seconds after which the server is to end a watch. */
  const watchSeconds = (): number => Math.round((toMilliseconds(serverTimeout) * (1 + random())) / 1000)

  /**
   * Are we ahead of the server? Its data were restored from a backup, and a watch from the future would be accepted and stay silent. The
   * list is a consistent read, so a server that lags behind the others is not taken for one. RUNTIME-72.
   */
  const hasHistoryGoneBack = async (resourceVersion: string): Promise<boolean> => {
    const query = { ...selectors, limit: 1 }
    const { metadata } = await transport.request<Page<O>>({ method: 'GET', path, query, signal })
    return !isAtLeastAsNew(metadata.resourceVersion, resourceVersion)
  }

  /** A WatchList: when its list is complete it goes on as a watch. RUNTIME-52, RUNTIME-54. */
  const streamList = async (): Promise<WatchFailure> => {
    using endMark = new EndMarkTimer(clock, signal)
    const seconds = watchSeconds() * (isListSlow ? SLOW_LIST_FACTOR : 1)
    try {
      const hadItsTime = await followWatch(seconds, endMark)
      if (!endMark.isMissing) return { cause: 'ended' }
      isListSlow = hadItsTime
      return hadItsTime ? slowStream(seconds) : { cause: 'unmarked' }
    } catch (error) {
      if (error instanceof EndMarkMissingError) unmarkedStreams = MAX_UNMARKED_STREAMS
      throw error
    } finally {
      if (endMark.isMissing) unmarkedStreams += 1
    }
  }

  const listPages = async (): Promise<void> => {
    let token: string | undefined
    do {
      const query = { ...selectors, continue: token }
      const page = await readPageThatFits(pages, (limit) =>
        transport.request<Page<O>>({ method: 'GET', path, query: { ...query, limit }, signal }),
      )
      if (signal.aborted) return
      heard()
      for (const item of page.items)
        syncedStore.put({ ...item, apiVersion: apiVersionOf(resource), kind: resource.kind })
      token = page.metadata.continue
      if (!token) listed(page.metadata.resourceVersion)
    } while (token)
    idle = 0
  }

  /** One request or stream, to its end. */
  const attempt = async (): Promise<WatchFailure | undefined> => {
    beat()
    idle += 1
    if (state.phase === 'empty') {
      const isStreamed = initialList === 'stream' && unmarkedStreams < MAX_UNMARKED_STREAMS
      state = { phase: isStreamed ? 'streaming' : 'paging' }
    }
    if (state.phase !== 'watching') syncedStore.beginList()
    try {
      if (state.phase === 'paging') {
        await listPages()
        return undefined
      }
      if (state.phase === 'streaming') return await streamList()
      if (isHistoryInDoubt && state.phase === 'watching' && (await hasHistoryGoneBack(state.resourceVersion)))
        return { cause: 'expired' }
      await followWatch(watchSeconds())
      return { cause: 'ended' }
    } catch (error) {
      return failureOf(error, state)
    }
  }

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const failure = await attempt()
      if (signal.aborted) break
      if (failure === undefined) continue
      const delay = delayAfter(failure, idle, random())
      failed(failure, delay)
      state = stateAfter(failure, state)
      if (delay > 0) await clock.sleep(delay, signal)
    }
    share.close()
    synced.resolve(false) // without effect when it was true
  }

  return { store: syncedStore.store, synced: synced.promise, stopped: run() }
}
