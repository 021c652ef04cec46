/** Resources that exist only in a dry run: what is applied is there, what is deleted is gone, unless a file says otherwise. */
import { kindOf, metadataOf } from '../run/resources/object.ts'
import type { Json, JsonObject } from '../task/task.ts'
import { describeLookup, type Lookup, type ResourceTransport } from './transport.ts'

/** Something that was done, for the trace of a dry run. */
export interface Operation {
  readonly operation: 'apply' | 'find' | 'delete'
  readonly resource: string
  readonly object: string
  readonly manifest?: Json
}

/** @param preloaded by name: what is there before the run, or what is found in the place of what was applied */
export const memoryTransport = (
  preloaded: Readonly<Record<string, JsonObject>>,
  onOperation: (operation: Operation) => void,
): ResourceTransport => {
  const objects = new Map<string, JsonObject>()
  const overrides = new Map(Object.entries(preloaded))
  for (const [name, object] of overrides) objects.set(keyOf(object, name), object)

  return {
    async apply(target) {
      const { name = '' } = metadataOf(target.manifest)
      const object = overrides.get(name) ?? target.manifest
      objects.set(target.transport.kind === 'http' ? target.transport.url : keyOf(target.manifest, name), object)
      onOperation({
        operation: 'apply',
        resource: target.name,
        object: describeLookup(target),
        manifest: target.manifest,
      })
      return object
    },
    async find(lookup) {
      onOperation({ operation: 'find', resource: lookup.name, object: describeLookup(lookup) })
      return [...objects].filter(([key, object]) => matches(key, object, lookup)).map(([, object]) => object)
    },
    async delete(lookup, object) {
      onOperation({ operation: 'delete', resource: lookup.name, object: describeLookup(lookup) })
      for (const [key, one] of objects) if (one === object) objects.delete(key)
      return 'asked'
    },
  }
}

const keyOf = (object: JsonObject, name: string): string =>
  `${kindOf(object)}/${metadataOf(object).namespace ?? ''}/${metadataOf(object).name ?? name}`

const matches = (key: string, object: JsonObject, { identity, match, transport }: Lookup): boolean => {
  if (transport.kind === 'http') return key === transport.url || object.url === transport.url
  if (object.kind !== undefined && object.kind !== identity.kind) return false
  const { name, namespace, labels = {} } = metadataOf(object)
  switch (match.kind) {
    case 'self':
      return false
    case 'name':
      return (
        name === match.name &&
        (match.namespace === undefined || namespace === undefined || namespace === match.namespace)
      )
    case 'labels':
      return Object.entries(match.labels).every(([label, value]) => labels[label] === value)
  }
}
