/**
 * An API server in memory, as far as inventories and objects that several tasks apply need one: creates and replaces with
 * resourceVersions, server-side apply with a manager for each field, deletes with preconditions.
 */
import { ApiError } from '#operator/client/errors.ts'
import type { ApiRequest } from '#operator/client/transport.ts'

type Fields = Readonly<Record<string, string>>

interface Metadata {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  labels?: Fields
  annotations?: Fields
  managedFields?: readonly { readonly manager: string; readonly operation: string }[]
}

export interface StoredObject {
  readonly apiVersion?: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec?: object
  readonly data?: Fields
}

/** What is written by apply: label by label, annotation by annotation. */
interface Applied {
  readonly uid: string
  version: number
  /** Value and managers by path. */
  readonly fields: Map<string, { value: string; readonly managers: Set<string> }>
}

const KINDS = { '/api/v1': ['configmaps', 'ConfigMap'], '/apis/batch/v1': ['jobs', 'Job'] } as const

const refuse = (code: number, reason: string, message: string, details: object = {}): never => {
  throw new ApiError({ kind: 'Status', code, reason, message, details })
}

export class MemoryCluster {
  /** Objects that are created and replaced, by path. */
  readonly stored = new Map<string, StoredObject>()
  /** Objects that are applied, by path. */
  readonly applied = new Map<string, Applied>()
  /** Names of objects whose data can be neither changed nor taken off. */
  readonly frozen = new Set<string>()
  #version = 0

  /** Names of what was applied and is there. */
  names(): string[] {
    return [...this.applied.keys()].map(nameOf)
  }

  uid(name: string): string | undefined {
    return [...this.applied].find(([path]) => nameOf(path) === name)?.[1].uid
  }

  /** @throws ApiError */
  request({ method, path, query, body, onStatus }: ApiRequest): unknown {
    const kind = KINDS[path as keyof typeof KINDS]
    if (kind !== undefined) return { resources: [{ name: kind[0], kind: kind[1], namespaced: true }] }
    if (method === 'PATCH') {
      const isNew = !this.applied.has(path)
      const applied = this.#apply(path, body as StoredObject, String(query?.fieldManager), query?.force === true)
      onStatus?.(isNew ? 201 : 200)
      return applied
    }
    if (method === 'DELETE') return this.#delete(path, body as { preconditions?: Metadata })
    if (method === 'GET') return this.#get(path)
    return this.#write(method === 'POST', path, body as StoredObject)
  }

  #get(path: string): unknown {
    const applied = this.applied.get(path)
    if (applied !== undefined) return show(path, applied)
    const one = this.stored.get(path)
    if (one !== undefined) return one
    // Of one namespace, or of all.
    const plural = nameOf(path)
    const group = path.slice(0, path.lastIndexOf('/'))
    const isListed = (key: string) =>
      key.startsWith(`${path}/`) ||
      (!path.includes('/namespaces/') && key.startsWith(group) && key.includes(`/${plural}/`))
    const items = [...this.stored].filter(([key]) => isListed(key)).map(([, object]) => object)
    if (path.endsWith('s')) return { metadata: { resourceVersion: String(this.#version) }, items }
    return refuse(404, 'NotFound', `${path} is not there`, { name: nameOf(path) })
  }

  #write(isNew: boolean, path: string, object: StoredObject): StoredObject {
    const key = isNew ? `${path}/${object.metadata.name}` : path
    const before = this.stored.get(key)
    if (isNew && before !== undefined) refuse(409, 'AlreadyExists', `${key} is there`)
    if (!isNew && before === undefined) refuse(404, 'NotFound', `${key} is not there`)
    if (!isNew && !isAsExpected(object.metadata, before?.metadata)) refuse(409, 'Conflict', `${key} has changed`)
    const resourceVersion = String(++this.#version)
    const uid = before?.metadata.uid ?? `uid-${this.#version}`
    const written = structuredClone({ ...object, metadata: { ...object.metadata, uid, resourceVersion } })
    this.stored.set(key, written)
    return written
  }

  #delete(path: string, { preconditions = { name: '' } }: { preconditions?: Metadata }): unknown {
    const applied = this.applied.get(path)
    const before = applied === undefined ? this.stored.get(path) : show(path, applied)
    if (before === undefined) refuse(404, 'NotFound', `${path} is not there`, { name: nameOf(path) })
    if (!isAsExpected(preconditions, before?.metadata)) refuse(409, 'Conflict', `${path} has changed`)
    this.applied.delete(path)
    this.stored.delete(path)
    return {}
  }

  #apply(path: string, object: StoredObject, manager: string, force: boolean): StoredObject {
    const before = this.applied.get(path)
    if (
      object.metadata.resourceVersion !== undefined &&
      !isAsExpected(object.metadata, before && show(path, before).metadata)
    )
      refuse(409, 'Conflict', `${path} has changed`)
    if (object.metadata.uid !== undefined && before === undefined)
      refuse(409, 'Conflict', 'uid mismatch, and no existing object was found')
    const { fields, uid } = before ?? { fields: new Map() as Applied['fields'], uid: `uid-${++this.#version}` }
    const wanted = flatten(object)
    const conflicts = [...wanted].flatMap(([field, value]) => {
      const there = fields.get(field)
      if (there === undefined || there.value === value) return []
      const others = [...there.managers].filter((one) => one !== manager)
      return others.map((one) => ({ reason: 'FieldManagerConflict', message: `conflict with "${one}"`, field }))
    })
    if (conflicts.length > 0 && !force) refuse(409, 'Conflict', 'Apply failed with conflicts', { causes: conflicts })
    if ((object.metadata.uid ?? uid) !== uid)
      refuse(422, 'Invalid', 'field is immutable', { causes: [{ field: 'metadata.uid' }] })
    const isLost = ([field, there]: [string, { readonly managers: ReadonlySet<string> }]) =>
      !wanted.has(field) && there.managers.size === 1 && there.managers.has(manager)
    const isData = ([field]: [string, unknown]) => field.startsWith('data.')
    const isChanged = ([field, value]: [string, string]) => fields.get(field)?.value !== value
    const changed = [...[...fields].filter(isLost), ...[...wanted].filter(isChanged)]
    if (this.frozen.has(nameOf(path)) && changed.some(isData)) refuse(422, 'Invalid', 'data: field is immutable')
    const state = () =>
      [...fields]
        .map(([field, { value, managers }]) => `${field}=${value} ${[...managers].toSorted().join()}`)
        .toSorted()
        .join('\n')
    const former = state()
    for (const [field, there] of fields)
      if (there.managers.delete(manager) && there.managers.size === 0 && !wanted.has(field)) fields.delete(field)
    for (const [field, value] of wanted) {
      const there = fields.get(field)
      if (there?.value === value) there.managers.add(manager)
      else fields.set(field, { value, managers: new Set([manager]) })
    }
    // An apply that changes nothing writes nothing.
    if (before !== undefined && state() === former) return show(path, before)
    const applied = { uid, version: ++this.#version, fields }
    this.applied.set(path, applied)
    return show(path, applied)
  }
}

export const nameOf = (path: string): string => path.split('/').at(-1) ?? ''

const isAsExpected = (expected: Metadata, now: Metadata | undefined): boolean =>
  (expected.uid === undefined || expected.uid === now?.uid) &&
  (expected.resourceVersion === undefined || expected.resourceVersion === now?.resourceVersion)

const PARTS = ['labels', 'annotations', 'data'] as const

const flatten = ({ metadata, data = {} }: StoredObject): Map<string, string> => {
  const { labels = {}, annotations = {} } = metadata
  const parts = { labels, annotations, data }
  return new Map(PARTS.flatMap((part) => Object.entries(parts[part]).map(([key, value]) => [`${part}.${key}`, value])))
}

const show = (path: string, { uid, version, fields }: Applied): StoredObject => {
  const part = (name: string) =>
    Object.fromEntries(
      [...fields].flatMap(([field, { value }]) =>
        field.startsWith(`${name}.`) ? [[field.slice(name.length + 1), value]] : [],
      ),
    )
  const managers = new Set([...fields.values()].flatMap((field) => [...field.managers]))
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      name: nameOf(path),
      namespace: 'n',
      uid,
      resourceVersion: String(version),
      labels: part('labels'),
      annotations: part('annotations'),
      managedFields: [...managers].map((manager) => ({ manager, operation: 'Apply' })),
    },
    data: part('data'),
  }
}
