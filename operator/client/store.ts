import { type KubeObject, keyOf } from '../model/resource.ts'

/** Objects of one kind in memory, as the watch last saw them. Readers must not change what they are given. */
export interface Store<O extends KubeObject> {
  readonly size: number
  /** @param key `namespace/name`, or `name` for a cluster-scoped kind: see `keyOf` */
  get(key: string): O | undefined
  values(): Iterable<O>
  /**
   * A second way to look objects up, kept current from now on. `of` gives the entries of one object; an object for
   * which it throws has none.
   * @example const byPool = claims.index((claim) => [[claim.spec.poolName, claim]])
   */
  index<K, V>(of: (object: O) => Iterable<readonly [K, V]>): Index<K, V>
}

export interface Index<K, V> {
  /** The values of all objects under the key; empty when there are none. */
  get(key: K): readonly V[]
  keys(): Iterable<K>
}

/** The side of a store that its reflector writes to. */
export interface WritableStore<O extends KubeObject> extends Store<O> {
  set(object: O): void
  delete(key: string): void
}

/** @param onIndexError told when an index function throws for the object with this key */
export const createStore = <O extends KubeObject>(
  onIndexError: (key: string, error: unknown) => void = () => {},
): WritableStore<O> => {
  const objects = new Map<string, O>()
  const indexes: EntryKeeper<O>[] = []

  const enter = (index: EntryKeeper<O>, key: string, object: O): void => {
    try {
      index.set(key, object)
    } catch (error) {
      index.delete(key)
      onIndexError(key, error)
    }
  }

  return {
    get size() {
      return objects.size
    },
    get: (key) => objects.get(key),
    values: () => objects.values(),
    index<K, V>(of: (object: O) => Iterable<readonly [K, V]>) {
      const index = createIndex(of)
      for (const [key, object] of objects) enter(index, key, object)
      indexes.push(index)
      return index
    },
    set(object) {
      const key = keyOf(object.metadata)
      objects.set(key, object)
      for (const index of indexes) enter(index, key, object)
    },
    delete(key) {
      objects.delete(key)
      for (const index of indexes) index.delete(key)
    },
  }
}

interface EntryKeeper<O> {
  set(objectKey: string, object: O): void
  delete(objectKey: string): void
}

const createIndex = <O, K, V>(of: (object: O) => Iterable<readonly [K, V]>): Index<K, V> & EntryKeeper<O> => {
  /** Values by index key, then by the object they come from, so that one object's change touches only its own. */
  const buckets = new Map<K, Map<string, V[]>>()
  const keysOf = new Map<string, Set<K>>()

  const remove = (objectKey: string): void => {
    for (const key of keysOf.get(objectKey) ?? []) {
      const bucket = buckets.get(key)
      bucket?.delete(objectKey)
      if (bucket?.size === 0) buckets.delete(key)
    }
    keysOf.delete(objectKey)
  }

  return {
    get: (key) => [...(buckets.get(key)?.values() ?? [])].flat(),
    keys: () => buckets.keys(),
    set(objectKey, object) {
      remove(objectKey)
      const entries = [...of(object)]
      if (entries.length > 0) keysOf.set(objectKey, new Set(entries.map(([key]) => key)))
      for (const [key, value] of entries) {
        const bucket = buckets.get(key) ?? new Map<string, V[]>()
        buckets.set(key, bucket)
        bucket.set(objectKey, [...(bucket.get(objectKey) ?? []), value])
      }
    },
    delete: remove,
  }
}
