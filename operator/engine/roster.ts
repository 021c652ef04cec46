import type { ReflectorEvent } from '../client/reflector.ts'
import { type Clock, monotonic } from '../model/clock.ts'
import { equal } from '../model/diff.ts'
import { essenceOf } from '../model/essence.ts'
import { type Filters, matches } from '../model/filters.ts'
import type { Logger } from '../model/log.ts'
import { type KubeObject, keyOf } from '../model/resource.ts'
import type { Definition, Watched } from './definition.ts'
import { DeletedError, EndedError, Life } from './life.ts'
import { isAtLeast } from './revision.ts'
import { noteNews, type Tended, tend } from './tended.ts'

export interface RosterOptions {
  readonly definition: Definition
  readonly clock: Clock
  readonly log: Logger
  /** Something happened to the object with this key. `redeclared`: to its essence, so what failed may work now. */
  onChange(key: string, redeclared: boolean): void
}

/** The objects of a controller that are looked after, and what the watch has told about each since it was handled. */
export interface Roster {
  get(key: string): Tended | undefined
  /** One that is gone and not yet said goodbye to, the oldest of this key. A new object of the name may be there already. */
  departed(key: string): Tended | undefined
  /** The oldest departed one of this key is done with. */
  bury(key: string): void
  /** An event of the controller's own kind. */
  note(event: ReflectorEvent<KubeObject>): void
  /** An event of a kind that wakes objects of ours. */
  noteOther(watched: Watched, event: ReflectorEvent<KubeObject>): void
  /** Something outside of Kubernetes concerns the object with this key. */
  wake(key: string): void
  /** Ends every life. */
  end(reason: string): void
}

export const createRoster = ({ definition, clock, log, onChange }: RosterOptions): Roster => {
  let woken = 0
  const { resource } = definition
  const present = new Map<string, Tended>()
  const gone = new Map<string, Tended[]>()
  /** Comparing essences costs, and most controllers don't ask. */
  const asksForEssence = definition.changes.length > 0 || definition.timers.some(({ idle }) => idle > 0)

  const isRedeclared = (object: KubeObject, old: KubeObject): boolean =>
    object.metadata.generation !== old.metadata.generation ||
    (asksForEssence && !equal(essenceOf(old), essenceOf(object)))

  const isFor = (filters: Filters<KubeObject>, object: KubeObject): boolean => {
    try {
      return matches(filters, object)
    } catch (error) {
      log.error('a `when` filter threw, its handler goes on', { object: keyOf(object.metadata), err: error })
      return true
    }
  }

  /** @returns whether somebody else changed the essence */
  const observe = (tended: Tended, object: KubeObject, old: KubeObject): boolean => {
    const { resourceVersion, deletionTimestamp } = object.metadata
    tended.object = object
    const isOurs = tended.written?.delete(resourceVersion) === true
    const redeclared = !isOurs && isRedeclared(object, old)
    if (isOurs) tended.echoed = true
    else noteNews(tended, resourceVersion, redeclared)
    if (redeclared) tended.quietSince = monotonic(clock)
    if (tended.awaiting !== undefined && isAtLeast(resourceVersion, tended.awaiting.revision)) {
      tended.written = undefined
    }
    if (deletionTimestamp === undefined) tended.life.changed(object, isFor)
    else if (old.metadata.deletionTimestamp === undefined) {
      tended.life.end(new DeletedError('the object is being deleted'))
      tended.life = new Life()
    }
    return redeclared
  }

  const arrive = (key: string, object: KubeObject, initial: boolean): Tended => {
    const tended = tend(key, object, monotonic(clock), initial)
    present.set(key, tended)
    return tended
  }

  const depart = (tended: Tended, object: KubeObject): void => {
    tended.object = object
    tended.life.end(new DeletedError('the object is gone'))
    // What is left to do is a life of its own, as deletion is.
    tended.life = new Life()
    present.delete(tended.key)
    gone.set(tended.key, [...(gone.get(tended.key) ?? []), tended])
  }

  return {
    get: (key) => present.get(key),
    departed: (key) => gone.get(key)?.[0],
    bury(key) {
      const rest = gone.get(key)?.slice(1) ?? []
      if (rest.length === 0) gone.delete(key)
      else gone.set(key, rest)
    },
    note(event) {
      if (event.type === 'synced') return
      const { type, object } = event
      const key = keyOf(object.metadata)
      const known = present.get(key)
      const tended = known ?? arrive(key, object, type === 'listed')
      const redeclared = type === 'modified' && known !== undefined && observe(known, object, event.old)
      if (definition.events.length > 0) {
        tended.unseen ??= []
        tended.unseen.push({ type, object })
      }
      if (type === 'deleted') depart(tended, object)
      onChange(key, redeclared)
    },
    noteOther({ map }, event) {
      if (event.type === 'synced') return
      // Also whom it was about before: an owner that lost something must learn of it.
      const states = event.type === 'modified' ? [event.old, event.object] : [event.object]
      for (const other of states) {
        const mark = `${keyOf(other.metadata)}@${other.metadata.resourceVersion}`
        for (const { name, namespace = other.metadata.namespace } of map(other)) {
          const key = keyOf({ name, ...(resource.scope === 'Namespaced' && namespace !== undefined && { namespace }) })
          const tended = present.get(key)
          if (tended === undefined) continue
          noteNews(tended, mark, false)
          onChange(key, false)
        }
      }
    },
    wake(key) {
      const tended = present.get(key)
      if (tended === undefined) return
      woken += 1
      noteNews(tended, `outside@${woken}`, false)
      onChange(key, false)
    },
    end(reason) {
      const ended = new EndedError(reason)
      for (const tended of present.values()) tended.life.end(ended)
      for (const tended of [...gone.values()].flat()) tended.life.end(ended)
    },
  }
}
