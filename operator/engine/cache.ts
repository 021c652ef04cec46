import type { KubeObject } from '../model/resource.ts'
import type { Informer } from './informers.ts'

/** The objects of a kind that a controller watches, as they are in memory. Readers must not change what they are given. */
export interface Cache<O extends KubeObject = KubeObject> {
  readonly size: number
  /** @param key `namespace/name`, or `name` for a cluster-scoped kind: see `keyOf` */
  get(key: string): O | undefined
  values(): Iterable<O>
  /** Calls back after every change. @returns ends that */
  subscribe(changed: () => void): () => void
}

/** Several collections of one kind, such as one a namespace, as one. Undefined for none. */
export const cacheOf = <O extends KubeObject>(sources: readonly Informer<O>[]): Cache<O> | undefined =>
  sources.length === 0
    ? undefined
    : {
        get size() {
          return sources.reduce((sum, { store }) => sum + store.size, 0)
        },
        get: (key) => sources.map(({ store }) => store.get(key)).find((object) => object !== undefined),
        *values() {
          for (const { store } of sources) yield* store.values()
        },
        subscribe(changed) {
          const ends = sources.map((source) => source.subscribe(changed))
          return () => {
            for (const end of ends) end()
          }
        },
      }
