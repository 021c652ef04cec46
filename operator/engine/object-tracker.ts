import { equal } from '#lib/json/diff.ts'
import type { ReflectorEvent } from '../client/reflector.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { declaredStateOf } from '../model/declared-state.ts'
import { type Filters, matches } from '../model/filters.ts'
import type { Logger } from '../model/log.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
import { isAtLeastAsNew } from '../model/resource-version.ts'
import type { Definition, Watched } from './definition.ts'
import { ObjectDeletedError, ObjectScope, ScopeEndedError } from './object-scope.ts'
import { createObjectState, type ObjectState, recordChange } from './object-state.ts'

export interface ObjectTrackerOptions {
  readonly definition: Definition
  readonly clock: Clock
  readonly log: Logger
  /** The object with this key is to be reconciled. `specChanged`: its declared state changed, so what failed may work now. */
  onChange(key: string, specChanged: boolean): void
}

/** The states of a controller's objects: what its informers have shown of each since it was reconciled last. */
export class ObjectTracker {
  readonly #options: ObjectTrackerOptions
  readonly #present = new Map<string, ObjectState>()
  readonly #deleted = new Map<string, ObjectState[]>()
  /** Comparing declared states costs, and most controllers don't ask. */
  readonly #needsDeclaredState: boolean
  #wakeUps = 0

  constructor(options: ObjectTrackerOptions) {
    const { changes, timers } = options.definition
    this.#options = options
    this.#needsDeclaredState = changes.length > 0 || timers.some(({ idle }) => idle > 0)
  }

  get(key: string): ObjectState | undefined {
    return this.#present.get(key)
  }

  /** A deleted object whose last handlers have not run, the oldest of this key. A new object of the name may be there already. */
  deleted(key: string): ObjectState | undefined {
    return this.#deleted.get(key)?.[0]
  }

  /** The last handlers of the oldest deleted object of this key have run. */
  dropDeleted(key: string): void {
    const rest = this.#deleted.get(key)?.slice(1) ?? []
    if (rest.length === 0) this.#deleted.delete(key)
    else this.#deleted.set(key, rest)
  }

  /** An event of the controller's own kind. */
  recordEvent(event: ReflectorEvent<KubeObject>): void {
    if (event.type === 'synced') return
    const { definition, onChange } = this.#options
    const { type, object } = event
    const key = keyOf(object.metadata)
    const known = this.#present.get(key)
    const state = known ?? this.#track(key, object, type === 'listed')
    const specChanged = type === 'modified' && known !== undefined && this.#recordModified(known, object, event.old)
    if (definition.events.length > 0) {
      state.pendingEvents ??= []
      state.pendingEvents.push({ type, object })
    }
    if (type === 'deleted') this.#untrack(state, object)
    onChange(key, specChanged)
  }

  /** An event of a kind that wakes objects of ours. RUNTIME-8. */
  recordWatchedEvent({ map }: Watched, event: ReflectorEvent<KubeObject>): void {
    if (event.type === 'synced') return
    const isNamespaced = this.#options.definition.resource.scope === 'Namespaced'
    // Its old state too: an owner that lost the object must learn of it.
    const states = event.type === 'modified' ? [event.old, event.object] : [event.object]
    for (const other of states) {
      const changeId = `${keyOf(other.metadata)}@${other.metadata.resourceVersion}`
      for (const { name, namespace = other.metadata.namespace } of map(other))
        this.#wake(keyOf({ name, ...(isNamespaced && namespace !== undefined && { namespace }) }), changeId)
    }
  }

  /** A source woke the object with this key. */
  wake(key: string): void {
    this.#wakeUps += 1
    this.#wake(key, `source@${this.#wakeUps}`)
  }

  /** Ends every scope. */
  end(reason: string): void {
    const ended = new ScopeEndedError(reason)
    for (const state of this.#present.values()) state.scope.end(ended)
    for (const state of [...this.#deleted.values()].flat()) state.scope.end(ended)
  }

  #wake(key: string, changeId: string): void {
    const state = this.#present.get(key)
    if (state === undefined) return
    recordChange(state, changeId, false)
    this.#options.onChange(key, false)
  }

  #track(key: string, object: KubeObject, initial: boolean): ObjectState {
    const state = createObjectState(key, object, monotonic(this.#options.clock), initial)
    this.#present.set(key, state)
    return state
  }

  #untrack(state: ObjectState, object: KubeObject): void {
    state.object = object
    state.scope.end(new ObjectDeletedError('the object is gone'))
    // Its last handlers run in a scope of their own, as those of a deletion do.
    state.scope = new ObjectScope()
    this.#present.delete(state.key)
    this.#deleted.set(state.key, [...(this.#deleted.get(state.key) ?? []), state])
  }

  /** @returns whether another writer changed the declared state */
  #recordModified(state: ObjectState, object: KubeObject, old: KubeObject): boolean {
    const { resourceVersion, deletionTimestamp } = object.metadata
    state.object = object
    const isOurs = state.ownWrites?.delete(resourceVersion) === true
    const specChanged = !isOurs && this.#isSpecChanged(object, old)
    if (isOurs) state.ownWriteSeen = true
    else recordChange(state, resourceVersion, specChanged)
    if (specChanged) state.unchangedSince = monotonic(this.#options.clock)
    if (state.awaitedWrite !== undefined && isAtLeastAsNew(resourceVersion, state.awaitedWrite.revision)) {
      state.ownWrites = undefined
    }
    if (deletionTimestamp === undefined) state.scope.changed(object, this.#matchesOrThrew)
    else if (old.metadata.deletionTimestamp === undefined) {
      state.scope.end(new ObjectDeletedError('the object is being deleted'))
      state.scope = new ObjectScope()
    }
    return specChanged
  }

  #isSpecChanged(object: KubeObject, old: KubeObject): boolean {
    return (
      object.metadata.generation !== old.metadata.generation ||
      (this.#needsDeclaredState && !equal(declaredStateOf(old), declaredStateOf(object)))
    )
  }

  // RUNTIME-39
  readonly #matchesOrThrew = (filters: Filters<KubeObject>, object: KubeObject): boolean => {
    try {
      return matches(filters, object)
    } catch (error) {
      const about = { object: keyOf(object.metadata), err: error }
      this.#options.log.error('a `when` filter threw, its handler keeps running', about)
      return true
    }
  }
}
