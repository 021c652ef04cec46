import type { Clock } from '../model/clock.ts'
import { type Duration, toMilliseconds } from '../model/duration.ts'
import type { Logger } from '../model/log.ts'
import { apiVersionOf, type KubeObject, keyOf, pathOf, type Resource } from '../model/resource.ts'
import type { Page } from './api.ts'
import { ApiError } from './errors.ts'
import { createStore, type Store } from './store.ts'
import type { Transport } from './transport.ts'
import {
  delayAfter,
  describe,
  endsInitialEvents,
  failureOf,
  parseMessage,
  stateAfter,
  type WatchFailure,
  type WatchState,
  watchQuery,
} from './watch.ts'

/**
 * What changed. The store already shows it when the event is emitted.
 * A change that happened while the watch was away is emitted once it is back; several to one object become one event.
 */
export type ReflectorEvent<O extends KubeObject> =
  /** It was there before we looked: only before `synced`. */
  | { readonly type: 'listed'; readonly object: O }
  | { readonly type: 'added'; readonly object: O }
  | { readonly type: 'modified'; readonly object: O; readonly old: O }
  /** As the watch last saw it. */
  | { readonly type: 'deleted'; readonly object: O }
  /** The first list is complete. Emitted once. */
  | { readonly type: 'synced' }

export interface ReflectorOptions<O extends KubeObject> {
  /** All namespaces when undefined. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /**
   * What of an object to keep in memory; all but `metadata.managedFields` by default. It must keep `metadata.name`,
   * `namespace`, `uid` and `resourceVersion`.
   */
  readonly keep?: ((object: O) => O) | undefined
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
 * the server and the network do: see `watch.ts` for the protocol. It never rejects, throws or ends the process.
 */
export const reflect = <O extends KubeObject>(
  transport: Transport,
  resource: Resource<O>,
  options: ReflectorOptions<O>,
): Reflector<O> => {
  const { namespace, labelSelector, fieldSelector, clock, signal, inactivityTimeout, random = Math.random } = options
  const { keep = (object: O) => object, initialList = 'stream', serverTimeout = '290s', beat = () => {} } = options
  const log = options.log.child({
    resource: `${resource.plural}.${apiVersionOf(resource)}`,
    ...(namespace && { namespace }),
  })
  const path = pathOf(resource, { namespace })
  const selectors = { labelSelector, fieldSelector }
  const store = createStore<O>((key, error) => log.error('an index function threw', { key, err: error }))
  const synced = Promise.withResolvers<boolean>()

  let state: WatchState = { phase: 'empty' }
  let isSynced = false
  /** While listing: keys in the store that the list has not shown yet. What is left at its end is gone. */
  let unseen = new Set<string>()
  /** Attempts in a row that brought no event. */
  let idle = 0
  let failing = false

  const emit = (event: ReflectorEvent<O>): void => {
    try {
      options.onEvent(event)
    } catch (error) {
      log.error('a watch handler threw', { event: event.type, err: error })
    }
  }

  const report = (failure: WatchFailure | undefined): void => {
    try {
      options.onHealth?.(failure)
    } catch (error) {
      log.error('a watch health handler threw', { err: error })
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

  const put = (received: O): void => {
    const key = keyOf(received.metadata)
    const old = store.get(key)
    unseen.delete(key)
    if (old?.metadata.resourceVersion === received.metadata.resourceVersion && sameObject(old, received)) return
    // Another object of the same name: the end of the old one was missed.
    if (old !== undefined && !sameObject(old, received)) remove(old)
    const object = keep(withoutManagedFields(received))
    store.set(object)
    if (old !== undefined && sameObject(old, received)) emit({ type: 'modified', object, old })
    else emit({ type: isSynced ? 'added' : 'listed', object })
  }

  const remove = (object: O): void => {
    const key = keyOf(object.metadata)
    unseen.delete(key)
    if (store.get(key) === undefined) return
    store.delete(key)
    emit({ type: 'deleted', object })
  }

  const beginList = (): void => {
    unseen = new Set(Iterator.from(store.values()).map(({ metadata }) => keyOf(metadata)))
  }

  const endList = (resourceVersion: string): void => {
    for (const key of unseen) {
      const gone = store.get(key)
      if (gone !== undefined) remove(gone)
    }
    state = { phase: 'watching', resourceVersion }
    if (isSynced) return
    isSynced = true
    log.debug('synced', { objects: store.size })
    emit({ type: 'synced' })
    synced.resolve(true)
  }

  const followWatch = async (): Promise<void> => {
    const seconds = Math.round((toMilliseconds(serverTimeout) * (1 + random())) / 1000)
    const query = { ...selectors, ...watchQuery(state, seconds) }
    for await (const line of transport.stream({ path, query, signal, inactivityTimeout, onOpen: heard })) {
      if (signal.aborted) return
      beat()
      const message = parseMessage<O>(line)
      switch (message.type) {
        case 'ADDED':
        case 'MODIFIED':
          put(message.object)
          break
        case 'DELETED':
          remove(keep(withoutManagedFields(message.object)))
          break
        case 'BOOKMARK':
          if (endsInitialEvents(message.object.metadata)) endList(message.object.metadata.resourceVersion)
          break
        case 'ERROR':
          throw new ApiError({ ...message.object, code: message.object.code ?? 500 })
      }
      idle = 0
      if (state.phase === 'watching') {
        state = { phase: 'watching', resourceVersion: message.object.metadata.resourceVersion }
      }
    }
  }

  const listPages = async (): Promise<void> => {
    let token: string | undefined
    do {
      const query = { ...selectors, limit: PAGE_SIZE, continue: token }
      const page = await transport.request<Page<O>>({ method: 'GET', path, query, signal })
      if (signal.aborted) return
      heard()
      for (const item of page.items) put({ ...item, apiVersion: apiVersionOf(resource), kind: resource.kind })
      token = page.metadata.continue
      if (!token) endList(page.metadata.resourceVersion)
    } while (token)
    idle = 0
  }

  /** One request or stream, to its end. */
  const attempt = async (): Promise<WatchFailure | undefined> => {
    beat()
    idle += 1
    if (state.phase === 'empty') state = { phase: initialList === 'stream' ? 'streaming' : 'paging' }
    if (state.phase !== 'watching') beginList()
    try {
      if (state.phase === 'paging') {
        await listPages()
        return undefined
      }
      await followWatch()
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
    synced.resolve(isSynced)
  }

  return { store, synced: synced.promise, stopped: run() }
}

const sameObject = (a: KubeObject, b: KubeObject): boolean => a.metadata.uid === b.metadata.uid

/** Who wrote which field is often a third of an object, and no controller reads it from a cache. */
const withoutManagedFields = <O extends KubeObject>(object: O): O => {
  const { managedFields: _, ...metadata } = object.metadata as O['metadata'] & { readonly managedFields?: unknown }
  return { ...object, metadata }
}
