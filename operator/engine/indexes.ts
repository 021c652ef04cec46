import { type KubeObject, keyOf } from '../model/resource.ts'

/** What the objects of a controller give for a key; filled before any handler runs and kept current by the watch. */
export interface Index<K, V> {
  /** In no particular order; empty when there is none. */
  get(key: K): readonly V[]
  keys(): Iterable<K>
}

/** The engine's side of an index. */
export interface IndexTable<O extends KubeObject = KubeObject> {
  readonly name: string
  put(object: O): void
  remove(object: O): void
  clear(): void
}

/** An index and the table behind it. `of` says which keys and values an object gives. */
export const createIndex = <O extends KubeObject, K, V>(
  name: string,
  of: (object: O) => Iterable<readonly [K, V]>,
): Index<K, V> & IndexTable<O> => {
  /** By key, then by object: one object may give several values for a key. */
  const table = new Map<K, Map<string, V[]>>()
  const keysOf = new Map<string, Set<K>>()

  const remove = (object: O) => {
    const owner = keyOf(object.metadata)
    for (const key of keysOf.get(owner) ?? []) {
      const values = table.get(key)
      values?.delete(owner)
      if (values?.size === 0) table.delete(key)
    }
    keysOf.delete(owner)
  }

  return {
    name,
    get: (key) => [...(table.get(key)?.values() ?? [])].flat(),
    keys: () => table.keys(),
    remove,
    put(object) {
      remove(object)
      const owner = keyOf(object.metadata)
      const keys = new Set<K>()
      for (const [key, value] of of(object)) {
        keys.add(key)
        const values = table.get(key) ?? new Map<string, V[]>()
        table.set(key, values)
        const own = values.get(owner)
        if (own === undefined) values.set(owner, [value])
        else own.push(value)
      }
      if (keys.size > 0) keysOf.set(owner, keys)
    },
    clear() {
      table.clear()
      keysOf.clear()
    },
  }
}
