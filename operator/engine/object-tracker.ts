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
  /** Something happened to the object with this key. `specChanged`: to its declared state, so what failed may work now. */
  onChange(key: string, specChanged: boolean): void
}

/** The objects of a controller that are looked after, and what the watch has told about each since it was handled. */
export interface ObjectTracker {
  get(key: string): ObjectState | undefined
  /** One that is gone and not yet said goodbye to, the oldest of this key. A new object of the name may be there already. */
  deleted(key: string): ObjectState | undefined
  /** The oldest deleted one of this key is done with. */
  dropDeleted(key: string): void
  /** An event of the controller's own kind. */
  recordEvent(event: ReflectorEvent<KubeObject>): void
  /** An event of a kind that wakes objects of ours. */
  recordWatchedEvent(watched: Watched, event: ReflectorEvent<KubeObject>): void
  /** Something outside of Kubernetes concerns the object with this key. */
  wake(key: string): void
  /** Ends every life. */
  end(reason: string): void
}

export const createObjectTracker = ({ definition, clock, log, onChange }: ObjectTrackerOptions): ObjectTracker => {
  let woken = 0
  const { resource } = definition
  const present = new Map<string, ObjectState>()
  const gone = new Map<string, ObjectState[]>()
  /** Comparing declared states costs, and most controllers don't ask. */
  const needsDeclaredState = definition.changes.length > 0 || definition.timers.some(({ idle }) => idle > 0)

  const isSpecChanged = (object: KubeObject, old: KubeObject): boolean =>
    object.metadata.generation !== old.metadata.generation ||
    (needsDeclaredState && !equal(declaredStateOf(old), declaredStateOf(object)))

  // RUNTIME-39
  const isFor = (filters: Filters<KubeObject>, object: KubeObject): boolean => {
    try {
      return matches(filters, object)
    } catch (error) {
      log.error('a `when` filter threw, its handler goes on', { object: keyOf(object.metadata), err: error })
      return true
    }
  }

  /** @returns whether somebody else changed the declared state */
  const observe = (state: ObjectState, object: KubeObject, old: KubeObject): boolean => {
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
    if (deletionTimestamp === undefined) state.scope.changed(object, isFor)
    else if (old.metadata.deletionTimestamp === undefined) {
      state.scope.end(new ObjectDeletedError('the object is being deleted'))
      state.scope = new ObjectScope()
    }
    return specChanged
  }

  const arrive = (key: string, object: KubeObject, initial: boolean): ObjectState => {
    const state = createObjectState(key, object, monotonic(clock), initial)
    present.set(key, state)
    return state
  }

  const depart = (state: ObjectState, object: KubeObject): void => {
    state.object = object
    state.scope.end(new ObjectDeletedError('the object is gone'))
    // What is left to do is a life of its own, as deletion is.
    state.scope = new ObjectScope()
    present.delete(state.key)
    gone.set(state.key, [...(gone.get(state.key) ?? []), state])
  }

  return {
    get: (key) => present.get(key),
    deleted: (key) => gone.get(key)?.[0],
    dropDeleted(key) {
      const rest = gone.get(key)?.slice(1) ?? []
      if (rest.length === 0) gone.delete(key)
      else gone.set(key, rest)
    },
    recordEvent(event) {
      if (event.type === 'synced') return
      const { type, object } = event
      const key = keyOf(object.metadata)
      const known = present.get(key)
      const state = known ?? arrive(key, object, type === 'listed')
      const specChanged = type === 'modified' && known !== undefined && observe(known, object, event.old)
      if (definition.events.length > 0) {
        state.pendingEvents ??= []
        state.pendingEvents.push({ type, object })
      }
      if (type === 'deleted') depart(state, object)
      onChange(key, specChanged)
    },
    // RUNTIME-8
    recordWatchedEvent({ map }, event) {
      if (event.type === 'synced') return
      // Also whom it was about before: an owner that lost something must learn of it.
      const states = event.type === 'modified' ? [event.old, event.object] : [event.object]
      for (const other of states) {
        const mark = `${keyOf(other.metadata)}@${other.metadata.resourceVersion}`
        for (const { name, namespace = other.metadata.namespace } of map(other)) {
          const key = keyOf({ name, ...(resource.scope === 'Namespaced' && namespace !== undefined && { namespace }) })
          const state = present.get(key)
          if (state === undefined) continue
          recordChange(state, mark, false)
          onChange(key, false)
        }
      }
    },
    wake(key) {
      const state = present.get(key)
      if (state === undefined) return
      woken += 1
      recordChange(state, `outside@${woken}`, false)
      onChange(key, false)
    },
    end(reason) {
      const ended = new ScopeEndedError(reason)
      for (const state of present.values()) state.scope.end(ended)
      for (const state of [...gone.values()].flat()) state.scope.end(ended)
    },
  }
}
