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
export interface ObjectTracker {
  get(key: string): ObjectState | undefined
  /** A deleted object whose last handlers have not run, the oldest of this key. A new object of the name may be there already. */
  deleted(key: string): ObjectState | undefined
  /** The last handlers of the oldest deleted object of this key have run. */
  dropDeleted(key: string): void
  /** An event of the controller's own kind. */
  recordEvent(event: ReflectorEvent<KubeObject>): void
  /** An event of a kind that wakes objects of ours. */
  recordWatchedEvent(watched: Watched, event: ReflectorEvent<KubeObject>): void
  /** A source woke the object with this key. */
  wake(key: string): void
  /** Ends every scope. */
  end(reason: string): void
}

export const createObjectTracker = ({ definition, clock, log, onChange }: ObjectTrackerOptions): ObjectTracker => {
  let wakeUps = 0
  const { resource } = definition
  const present = new Map<string, ObjectState>()
  const deletedStates = new Map<string, ObjectState[]>()
  /** Comparing declared states costs, and most controllers don't ask. */
  const needsDeclaredState = definition.changes.length > 0 || definition.timers.some(({ idle }) => idle > 0)

  const isSpecChanged = (object: KubeObject, old: KubeObject): boolean =>
    object.metadata.generation !== old.metadata.generation ||
    (needsDeclaredState && !equal(declaredStateOf(old), declaredStateOf(object)))

  // RUNTIME-39
  const matchesOrThrew = (filters: Filters<KubeObject>, object: KubeObject): boolean => {
    try {
      return matches(filters, object)
    } catch (error) {
      log.error('a `when` filter threw, its handler keeps running', { object: keyOf(object.metadata), err: error })
      return true
    }
  }

  /** @returns whether another writer changed the declared state */
  const recordModified = (state: ObjectState, object: KubeObject, old: KubeObject): boolean => {
    const { resourceVersion, deletionTimestamp } = object.metadata
    state.object = object
    const isOurs = state.ownWrites?.delete(resourceVersion) === true
    const specChanged = !isOurs && isSpecChanged(object, old)
    if (isOurs) state.ownWriteSeen = true
    else recordChange(state, resourceVersion, specChanged)
    if (specChanged) state.unchangedSince = monotonic(clock)
    if (state.awaitedWrite !== undefined && isAtLeastAsNew(resourceVersion, state.awaitedWrite.revision)) {
      state.ownWrites = undefined
    }
    if (deletionTimestamp === undefined) state.scope.changed(object, matchesOrThrew)
    else if (old.metadata.deletionTimestamp === undefined) {
      state.scope.end(new ObjectDeletedError('the object is being deleted'))
      state.scope = new ObjectScope()
    }
    return specChanged
  }

  const track = (key: string, object: KubeObject, initial: boolean): ObjectState => {
    const state = createObjectState(key, object, monotonic(clock), initial)
    present.set(key, state)
    return state
  }

  const untrack = (state: ObjectState, object: KubeObject): void => {
    state.object = object
    state.scope.end(new ObjectDeletedError('the object is gone'))
    // Its last handlers run in a scope of their own, as those of a deletion do.
    state.scope = new ObjectScope()
    present.delete(state.key)
    deletedStates.set(state.key, [...(deletedStates.get(state.key) ?? []), state])
  }

  return {
    get: (key) => present.get(key),
    deleted: (key) => deletedStates.get(key)?.[0],
    dropDeleted(key) {
      const rest = deletedStates.get(key)?.slice(1) ?? []
      if (rest.length === 0) deletedStates.delete(key)
      else deletedStates.set(key, rest)
    },
    recordEvent(event) {
      if (event.type === 'synced') return
      const { type, object } = event
      const key = keyOf(object.metadata)
      const known = present.get(key)
      const state = known ?? track(key, object, type === 'listed')
      const specChanged = type === 'modified' && known !== undefined && recordModified(known, object, event.old)
      if (definition.events.length > 0) {
        state.pendingEvents ??= []
        state.pendingEvents.push({ type, object })
      }
      if (type === 'deleted') untrack(state, object)
      onChange(key, specChanged)
    },
    // RUNTIME-8
    recordWatchedEvent({ map }, event) {
      if (event.type === 'synced') return
      // Its old state too: an owner that lost the object must learn of it.
      const states = event.type === 'modified' ? [event.old, event.object] : [event.object]
      for (const other of states) {
        const changeId = `${keyOf(other.metadata)}@${other.metadata.resourceVersion}`
        for (const { name, namespace = other.metadata.namespace } of map(other)) {
          const key = keyOf({ name, ...(resource.scope === 'Namespaced' && namespace !== undefined && { namespace }) })
          const state = present.get(key)
          if (state === undefined) continue
          recordChange(state, changeId, false)
          onChange(key, false)
        }
      }
    },
    wake(key) {
      const state = present.get(key)
      if (state === undefined) return
      wakeUps += 1
      recordChange(state, `source@${wakeUps}`, false)
      onChange(key, false)
    },
    end(reason) {
      const ended = new ScopeEndedError(reason)
      for (const state of present.values()) state.scope.end(ended)
      for (const state of [...deletedStates.values()].flat()) state.scope.end(ended)
    },
  }
}
