import type { Logger } from '../model/log.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
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
 * one that repeats what is known tells nothing, and what it does not show any more is deleted.
 */
export interface SyncedStore<O extends KubeObject> {
  readonly store: Store<O>
  /** Until `endList`, `put` shows what exists. A list that is begun again forgets the one that was broken off. */
  beginList(): void
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

  const drop = (key: string, object: O): void => {
    unseen.delete(key)
    store.delete(key)
    share.remove(key)
    emit({ type: 'deleted', object })
  }

  return {
    store,

    beginList() {
      unseen = new Set(Iterator.from(store.values()).map(({ metadata }) => keyOf(metadata)))
    },

    put(received, textBytes) {
      const key = keyOf(received.metadata)
      const known = store.get(key)
      // Another object of the same name: the end of the old one was missed.
      if (known !== undefined && !isSameObject(known, received)) drop(key, known)
      const old = store.get(key)
      unseen.delete(key)
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
      if (store.get(key) !== undefined) drop(key, stripped(received))
    },

    endList() {
      for (const key of unseen) {
        const gone = store.get(key)
        if (gone !== undefined) drop(key, gone)
      }
      if (isSynced) return
      isSynced = true
      log.debug('synced', { objects: store.size })
      emit({ type: 'synced' })
    },
  }
}

const isSameObject = (a: KubeObject, b: KubeObject): boolean => a.metadata.uid === b.metadata.uid

/** managedFields are often a third of an object, and no controller reads it from a cache. */
const withoutManagedFields = <O extends KubeObject>(object: O): O => {
  const { managedFields: _, ...metadata } = object.metadata as O['metadata'] & { readonly managedFields?: unknown }
  return { ...object, metadata }
}
