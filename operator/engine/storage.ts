import { isObject } from '#lib/json/is-object.ts'
import { OWN_PREFIX } from '../model/declared-state.ts'
import type { DeepPartial, KubeObject } from '../model/resource.ts'
import type { Patch } from './context.ts'

/**
 * Where a controller remembers something about an object from one process to the next.
 *
 * - `annotations`: on the object; survives restarts and needs the right to patch it
 * - `status`: in `status.muster`; the kind's schema must allow it
 * - `memory`: in this process only; after a restart every object looks new
 */
export type StorageKind = 'annotations' | 'status' | 'memory'

/** What a value is written with: it must not be remembered when the handlers' own changes could not be sent. */
export interface StoragePatch extends Pick<Patch<KubeObject>, 'merge' | 'status'> {
  /** Called when everything was sent. */
  afterwards(done: () => void): void
}

/** One remembered value an object. */
export interface ObjectStorage<T> {
  fetch(object: KubeObject): T | undefined
  /** `undefined` forgets it. Writing what is there already changes nothing. */
  store(value: T | undefined, object: KubeObject, patch: StoragePatch): void
  /** The object is gone. */
  forget(uid: string): void
}

/** @param key what is kept, e.g. 'pools.handled'; unique for a controller and a purpose */
export const createStorage = <T>(kind: StorageKind | ObjectStorage<T>, key: string): ObjectStorage<T> => {
  if (typeof kind === 'object') return kind
  switch (kind) {
    case 'annotations':
      return inAnnotation(OWN_PREFIX + key)
    case 'status':
      return inStatus(key)
    case 'memory':
      return inProcess()
  }
}

const inAnnotation = <T>(name: string): ObjectStorage<T> => ({
  fetch: (object) => {
    const text = object.metadata.annotations?.[name]
    return text === undefined ? undefined : parse<T>(text)
  },
  store(value, object, patch) {
    if (value === undefined && object.metadata.annotations?.[name] === undefined) return
    patch.merge({ metadata: { annotations: { [name]: value === undefined ? null : JSON.stringify(value) } } })
  },
  forget: () => {},
})

/** A note that is not readable counts as none: the object is handled again, which handlers must stand anyway. RUNTIME-16. */
const parse = <T>(text: string): T | undefined => {
  try {
    const note: unknown = JSON.parse(text)
    return isObject(note) ? (note as T) : undefined
  } catch {
    return undefined
  }
}

/** As text inside the status: a merge patch would otherwise keep the keys that a newer value no longer has. */
const inStatus = <T>(key: string): ObjectStorage<T> => {
  const notesOf = (object: KubeObject) =>
    (object.status as { readonly muster?: Readonly<Record<string, string>> } | undefined)?.muster
  return {
    fetch: (object) => {
      const text = notesOf(object)?.[key]
      return text === undefined ? undefined : parse<T>(text)
    },
    store(value, object, patch) {
      if (value === undefined && notesOf(object)?.[key] === undefined) return
      const note = { muster: { [key]: value === undefined ? null : JSON.stringify(value) } }
      patch.status(note as DeepPartial<NonNullable<unknown>>)
    },
    forget: () => {},
  }
}

const inProcess = <T>(): ObjectStorage<T> => {
  const values = new Map<string, T>()
  return {
    fetch: (object) => values.get(object.metadata.uid),
    store(value, object, patch) {
      patch.afterwards(() => {
        if (value === undefined) values.delete(object.metadata.uid)
        else values.set(object.metadata.uid, value)
      })
    },
    forget: (uid) => {
      values.delete(uid)
    },
  }
}
