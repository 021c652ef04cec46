import type { Index, Store } from '../client/store.ts'
import type { KubeObject } from '../model/resource.ts'

export type { Index }

/** An index that is declared before there is a cache: it is empty until the operator runs, then filled before any handler is called. RUNTIME-10. */
export interface DeclaredIndex<O extends KubeObject = KubeObject> {
  readonly name: string
  /** Looks into these stores from now on: one a namespace, or one for all. */
  bind(stores: readonly Store<O>[]): void
}

/** @param of the keys and values that one object gives */
export const declareIndex = <O extends KubeObject, K, V>(
  name: string,
  of: (object: O) => Iterable<readonly [K, V]>,
): Index<K, V> & DeclaredIndex<O> => {
  let parts: readonly Index<K, V>[] = []
  return {
    name,
    bind(stores) {
      parts = stores.map((store) => store.index(of))
    },
    get: (key) => parts.flatMap((part) => part.get(key)),
    keys: () => (parts.length === 1 && parts[0] ? parts[0].keys() : new Set(parts.flatMap((part) => [...part.keys()]))),
  }
}
