import { equal } from '#lib/json/diff.ts'
import type { Logger } from '../model/log.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
import { isAtLeastAsNew, isOlder } from '../model/resource-version.ts'
import type { CacheShare } from './cache-budget.ts'
import { createStore, type Store, type WritableStore } from './store.ts'

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

export interface SyncedStoreOptions<O extends KubeObject> {
  readonly transform?: ((object: O) => O) | undefined
  readonly onEvent: (event: ReflectorEvent<O>) => void
  readonly log: Logger
  readonly share: CacheShare
}

/**
 * A store that follows lists and changes, and tells what they changed. Lists are compared with what is there, so that
 * one that repeats what is known tells nothing, and what it does not show any more is deleted. What comes late, as the end of an
 * object whose name another one has by now, changes nothing, unless a complete list shows it. RUNTIME-74.
 */
export class SyncedStore<O extends KubeObject> {
  readonly #options: SyncedStoreOptions<O>
  readonly #store: WritableStore<O>
  readonly #ends = new RecentEnds()
  #isSynced = false
  #isListing = false
  /** While listing: keys in the store that the list has not shown yet. */
  #unseen = new Set<string>()
  /** While listing: the last state that the list showed of what would be late. */
  readonly #late = new Map<string, O>()
  /** As of which version the last list said to be complete. */
  #listedAs: string | undefined

  constructor(options: SyncedStoreOptions<O>) {
    const { log } = options
    this.#options = options
    this.#store = createStore<O>((key, error) =>
      log.error('an index function threw, the index lacks the object until it changes', { key, err: error }),
    )
  }

  get store(): Store<O> {
    return this.#store
  }

  /** Is the object known just as it is here? */
  isAsKnown(object: O): boolean {
    return equal(this.#store.get(keyOf(object.metadata)), this.#stripped(object))
  }

  /** Until `endList`, `put` shows what exists. A list that is begun again forgets the one that was broken off. */
  beginList(): void {
    this.#isListing = true
    this.#late.clear()
    this.#unseen = new Set(Iterator.from(this.#store.values()).map(({ metadata }) => keyOf(metadata)))
  }

  /** The object exists as it is here. @param textBytes of it as JSON, where they are known @throws CacheFullError */
  put(received: O, textBytes?: number): void {
    const key = keyOf(received.metadata)
    this.#unseen.delete(key)
    if (this.#isLate(received)) {
      if (this.#isListing) this.#late.set(key, received)
      if (!this.#wasLeftOut(key, received)) return
      this.#ends.delete(received)
    }
    this.#late.delete(key)
    this.#take(received, textBytes)
  }

  /** The object is gone. */
  remove(received: O): void {
    const key = keyOf(received.metadata)
    const known = this.#store.get(key)
    this.#ends.add(received, received.metadata.resourceVersion)
    const shown = this.#late.get(key)
    if (shown !== undefined && isSameObject(shown, received)) {
      this.#late.delete(key)
      this.#unseen.add(key)
    }
    if (known === undefined) return
    if (isSameObject(known, received)) {
      if (!isBefore(received, known)) this.#drop(key, this.#stripped(received))
    } else if (isBefore(known, received)) this.#dropPredecessor(key, known, received)
  }

  /**
   * The list is complete: what it has not shown is gone, and what it has shown counts, also where that is older than what is known or
   * had ended: the server's data were restored. RUNTIME-72.
   * @param version as of which it says to be complete. What comes later and is not newer was left out of it.
   * @throws CacheFullError
   */
  endList(version: string): void {
    for (const key of this.#unseen) {
      const gone = this.#store.get(key)
      if (gone === undefined) continue
      this.#ends.addUnseen(gone)
      this.#drop(key, gone)
    }
    for (const object of this.#late.values()) {
      this.#ends.delete(object)
      this.#take(object)
    }
    this.#late.clear()
    this.#ends.listed()
    this.#listedAs = version
    this.#isListing = false
    if (this.#isSynced) return
    this.#isSynced = true
    this.#options.log.debug('synced', { objects: this.#store.size })
    this.#emit({ type: 'synced' })
  }

  /** Came before what is known of this name, or before the end of the object. */
  #isLate(received: O): boolean {
    const known = this.#store.get(keyOf(received.metadata))
    return (known !== undefined && isBefore(received, known)) || this.#ends.has(received)
  }

  /** Changes are newer than the list before them: what is not belongs to that, and had not ended by then. */
  #wasLeftOut(key: string, received: O): boolean {
    if (this.#isListing || this.#listedAs === undefined || this.#store.get(key) !== undefined) return false
    return isAtLeastAsNew(this.#listedAs, received.metadata.resourceVersion) && this.#ends.isBeforeList(received)
  }

  #take(received: O, textBytes?: number): void {
    const { transform, share } = this.#options
    const key = keyOf(received.metadata)
    const known = this.#store.get(key)
    // Another object of the same name: the end of the old one was missed.
    if (known !== undefined && !isSameObject(known, received)) this.#dropPredecessor(key, known, received)
    const old = this.#store.get(key)
    const isSameVersion = old?.metadata.resourceVersion === received.metadata.resourceVersion
    // Data that were restored may have another state under the same version.
    if (isSameVersion && (!this.#isListing || this.isAsKnown(received))) return
    const object = this.#stripped(received)
    // What is left of it may be much less than what came.
    const isWhole = transform === undefined && textBytes !== undefined
    share.put(key, isWhole ? textBytes : JSON.stringify(object).length)
    this.#store.set(object)
    if (old !== undefined) this.#emit({ type: 'modified', object, old })
    else this.#emit({ type: this.#isSynced ? 'added' : 'listed', object })
  }

  #drop(key: string, object: O): void {
    this.#unseen.delete(key)
    this.#store.delete(key)
    this.#options.share.remove(key)
    this.#emit({ type: 'deleted', object })
  }

  /** A name has one object at a time. */
  #dropPredecessor(key: string, known: O, successor: O): void {
    this.#ends.add(known, successor.metadata.resourceVersion)
    this.#drop(key, known)
  }

  #stripped(received: O): O {
    const { transform } = this.#options
    const object = withoutManagedFields(received)
    return transform === undefined ? object : transform(object)
  }

  #emit(event: ReflectorEvent<O>): void {
    const { onEvent, log } = this.#options
    try {
      onEvent(event)
    } catch (error) {
      log.error('a watch handler threw, it goes on with the next event', { event: event.type, err: error })
    }
  }
}

const isSameObject = (a: KubeObject, b: KubeObject): boolean => a.metadata.uid === b.metadata.uid

const isBefore = (a: KubeObject, b: KubeObject): boolean =>
  isOlder(a.metadata.resourceVersion, b.metadata.resourceVersion)

/** So many ends are remembered for each kind: what comes late comes soon after. */
const MAX_ENDS = 256

/** The objects that ended last, so that an older state of one, told late, does not bring it back. */
class RecentEnds {
  readonly #ends = new Map<string, { readonly version: string; readonly isSeen: boolean; readonly lists: number }>()
  /** So many lists were complete. */
  #lists = 0

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

  listed(): void {
    this.#lists += 1
  }

  /** Had it ended before the last list was complete? */
  isBeforeList(object: KubeObject): boolean {
    return (this.#ends.get(identityOf(object))?.lists ?? this.#lists) < this.#lists
  }

  /** The object has not ended. */
  delete(object: KubeObject): void {
    this.#ends.delete(identityOf(object))
  }

  #remember(object: KubeObject, version: string, isSeen: boolean): void {
    const identity = identityOf(object)
    const known = this.#ends.get(identity)
    if (known !== undefined && isOlder(version, known.version)) return
    this.#ends.delete(identity)
    this.#ends.set(identity, { version, isSeen, lists: this.#lists })
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
