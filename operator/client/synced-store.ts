import type { Logger } from '../model/log.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
import { isAtLeastAsNew, isOlder } from '../model/resource-version.ts'
import type { CacheShare } from './cache-budget.ts'
import { createStore, type Store } from './store.ts'

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

/**
 * A store that follows lists and changes, and tells what they changed. Lists are compared with what is there, so that
 * one that repeats what is known tells nothing, and what it does not show any more is deleted. What comes late, as the end of an
 * object whose name another one has by now, changes nothing. RUNTIME-74.
 */
export interface SyncedStore<O extends KubeObject> {
  readonly store: Store<O>
  /**
   * Until `endList`, `put` shows what exists. A list that is begun again forgets the one that was broken off.
   * @param mayGoBack the server's data were restored: what the list shows counts, also where it is older than what is known
   */
  beginList(options?: { readonly mayGoBack: boolean }): void
  /** The object exists as it is here. @param textBytes of it as JSON, where they are known @throws CacheFullError */
  put(object: O, textBytes?: number): void
  /** The object is gone. */
  remove(object: O): void
  /** The list is complete: what it has not shown is gone. */
  endList(): void
}

export interface SyncedStoreOptions<O extends KubeObject> {
  readonly transform?: ((object: O) => O) | undefined
  readonly onEvent: (event: ReflectorEvent<O>) => void
  readonly log: Logger
  readonly share: CacheShare
}

export const createSyncedStore = <O extends KubeObject>(options: SyncedStoreOptions<O>): SyncedStore<O> => {
  const { transform, onEvent, log, share } = options
  const store = createStore<O>((key, error) => log.error('an index function threw', { key, err: error }))
  let isSynced = false
  /** While listing: keys in the store that the list has not shown yet. */
  let unseen = new Set<string>()
  let mayGoBack = false
  const ends = new RecentEnds()

  const emit = (event: ReflectorEvent<O>): void => {
    try {
      onEvent(event)
    } catch (error) {
      log.error('a watch handler threw', { event: event.type, err: error })
    }
  }

  const stripped = (received: O): O => {
    const object = withoutManagedFields(received)
    return transform === undefined ? object : transform(object)
  }

  /** Came before what is known of this name, or before the end of the object. */
  const isLate = (received: O, known: O | undefined): boolean =>
    !mayGoBack && ((known !== undefined && isBefore(received, known)) || ends.has(received))

  const drop = (key: string, object: O): void => {
    unseen.delete(key)
    store.delete(key)
    share.remove(key)
    emit({ type: 'deleted', object })
  }

  /** A name has one object at a time. */
  const dropPredecessor = (key: string, known: O, successor: O): void => {
    ends.add(known, successor.metadata.resourceVersion)
    drop(key, known)
  }

  return {
    store,

    beginList(list) {
      mayGoBack = list?.mayGoBack ?? false
      if (mayGoBack) ends.clear()
      unseen = new Set(Iterator.from(store.values()).map(({ metadata }) => keyOf(metadata)))
    },

    put(received, textBytes) {
      const key = keyOf(received.metadata)
      const known = store.get(key)
      unseen.delete(key)
      if (isLate(received, known)) return
      // Another object of the same name: the end of the old one was missed.
      if (known !== undefined && !isSameObject(known, received)) dropPredecessor(key, known, received)
      const old = store.get(key)
      if (old?.metadata.resourceVersion === received.metadata.resourceVersion) return
      const object = stripped(received)
      // What is left of it may be much less than what came.
      const isWhole = transform === undefined && textBytes !== undefined
      share.put(key, isWhole ? textBytes : JSON.stringify(object).length)
      store.set(object)
      if (old !== undefined) emit({ type: 'modified', object, old })
      else emit({ type: isSynced ? 'added' : 'listed', object })
    },

    remove(received) {
      const key = keyOf(received.metadata)
      const known = store.get(key)
      ends.add(received, received.metadata.resourceVersion)
      if (known === undefined) return
      if (isSameObject(known, received)) {
        if (mayGoBack || !isBefore(received, known)) drop(key, stripped(received))
      } else if (isBefore(known, received)) dropPredecessor(key, known, received)
    },

    endList() {
      for (const key of unseen) {
        const gone = store.get(key)
        if (gone === undefined) continue
        ends.addUnseen(gone)
        drop(key, gone)
      }
      mayGoBack = false
      if (isSynced) return
      isSynced = true
      log.debug('synced', { objects: store.size })
      emit({ type: 'synced' })
    },
  }
}

const isSameObject = (a: KubeObject, b: KubeObject): boolean => a.metadata.uid === b.metadata.uid

const isBefore = (a: KubeObject, b: KubeObject): boolean =>
  isOlder(a.metadata.resourceVersion, b.metadata.resourceVersion)

/** So many ends are remembered for each kind: what comes late comes soon after. */
const MAX_ENDS = 256

/** The objects that ended last, so that an older state of one, told late, does not bring it back. */
class RecentEnds {
  readonly #ends = new Map<string, { readonly version: string; readonly isSeen: boolean }>()

  /** The object has ended as of this version. */
  add(object: KubeObject, version: string): void {
    this.#remember(object, version, true)
  }

  /** A list does not show the object. Where the list was none, the state that is known may still be true. */
  addUnseen(object: KubeObject): void {
    this.#remember(object, object.metadata.resourceVersion, false)
  }

  /** Had the object ended by this state of it? */
  has(object: KubeObject): boolean {
    if (this.#ends.size === 0) return false
    const end = this.#ends.get(identityOf(object))
    const { resourceVersion } = object.metadata
    if (end === undefined) return false
    return end.isSeen ? isAtLeastAsNew(end.version, resourceVersion) : isOlder(resourceVersion, end.version)
  }

  clear(): void {
    this.#ends.clear()
  }

  #remember(object: KubeObject, version: string, isSeen: boolean): void {
    const identity = identityOf(object)
    const known = this.#ends.get(identity)
    if (known !== undefined && isOlder(version, known.version)) return
    this.#ends.delete(identity)
    this.#ends.set(identity, { version, isSeen })
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > MAX_ENDS && oldest !== undefined) this.#ends.delete(oldest)
  }
}

const identityOf = ({ metadata }: KubeObject): string => `${keyOf(metadata)} ${metadata.uid}`

/** managedFields are often a third of an object, and no controller reads it from a cache. */
const withoutManagedFields = <O extends KubeObject>(object: O): O => {
  const { managedFields: _, ...metadata } = object.metadata as O['metadata'] & { readonly managedFields?: unknown }
  return { ...object, metadata }
}
