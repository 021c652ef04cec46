/**
 * What the API server has answered to this process, mostly to its own writes, and the watch has not shown yet. Caches lag behind, and a
 * pass that does not know its own last writes would do them again.
 */

import { type KubeObject, keyOf, type Resource } from '#operator/model/resource.ts'
import { isLater } from '#operator/model/resource-version.ts'

interface Entry {
  readonly object: KubeObject
  /** It was made, so that a cache without it has not seen it yet. One that was only changed and is not there was deleted. */
  readonly isNew: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** How long the watch may take before it is doubted, in milliseconds. */
const WATCH_GRACE_MS = 5_000
/**
 * What is newer than the cache for longer than this is forgotten, in milliseconds: after etcd was restored from an earlier moment the cache
 * is right, and never comes to the version of a write that is gone.
 */
const MAX_AGE_MS = 60_000

export class WriteCache {
  readonly #kinds = new Map<string, Map<string, Entry>>()

  /** The API server answered a write with this object. */
  record<O extends KubeObject>(resource: Resource<O>, object: O, now: Date, isNew = false): void {
    const key = keyOf(object.metadata)
    const entries = this.#entries(resource)
    entries.set(key, { object, isNew: isNew || entries.get(key)?.isNew === true, at: now.getTime() })
  }

  /** The newer one of what a cache has and what was written. */
  latest<O extends KubeObject>(resource: Resource<O>, cached: O, now: Date): O {
    const entries = this.#entries(resource)
    const key = keyOf(cached.metadata)
    const entry = entries.get(key)
    if (entry === undefined) return cached
    const isKnown = now.getTime() - entry.at < MAX_AGE_MS && entry.object.metadata.uid === cached.metadata.uid
    if (isKnown && isLater(entry.object, cached)) return entry.object as O
    entries.delete(key)
    return cached
  }

  /** The objects of a cache in their newest states, and those that it has not seen yet. */
  merge<O extends KubeObject>(resource: Resource<O>, cached: readonly O[], now: Date): readonly O[] {
    const seen = new Set(cached.map(({ metadata }) => keyOf(metadata)))
    const known = cached.map((object) => this.latest(resource, object, now))
    const unseen: O[] = []
    for (const [key, { object, isNew }] of this.#entries(resource))
      if (!seen.has(key)) {
        if (isNew) unseen.push(object as O)
        else this.#entries(resource).delete(key)
      }
    return [...known, ...unseen]
  }

  /** Objects that a cache should have shown by now. */
  overdue<O extends KubeObject>(resource: Resource<O>, now: Date): readonly O[] {
    return [...this.#entries(resource).values()]
      .filter(({ isNew, at }) => isNew && now.getTime() - at > WATCH_GRACE_MS)
      .map(({ object }) => object as O)
  }

  /**
   * When something becomes overdue, in milliseconds since the epoch; undefined when nothing is awaited. What was gone from the cache
   * before its creation was answered for is shown by no watch any more: nothing else says that it is not there.
   */
  overdueAt(): number | undefined {
    const made = [...this.#kinds.values()].flatMap((entries) => [...entries.values()].filter(({ isNew }) => isNew))
    return made.length === 0 ? undefined : Math.min(...made.map(({ at }) => at)) + WATCH_GRACE_MS + 1
  }

  forget<O extends KubeObject>(resource: Resource<O>, object: O): void {
    this.#entries(resource).delete(keyOf(object.metadata))
  }

  #entries(resource: Resource): Map<string, Entry> {
    const entries = this.#kinds.get(resource.kind) ?? new Map<string, Entry>()
    this.#kinds.set(resource.kind, entries)
    return entries
  }
}
