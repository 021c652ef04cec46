/** Fields of files that nothing knows: the API server would leave them out without a word. ADAPTER-137, GITOPS-58. */
import { isObject } from '#lib/json/is-object.ts'
import { schemaOf } from './crds/crds.ts'

/** A structural schema, as far as it is read here. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

const specOf = (kind: string): Schema => (schemaOf(kind) as Schema).properties?.spec ?? {}

/** @param spec of an object of a kind of ours @returns paths such as `spec.events.maxConcurent` */
export const unknownSpecFields = (kind: string, spec: unknown): readonly string[] =>
  unknownIn(spec, specOf(kind), 'spec')

const unknownIn = (value: unknown, schema: Schema, path: string): readonly string[] => {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return []
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? [] : value.flatMap((item, at) => unknownIn(item, items, `${path}[${at}]`))
  }
  const { properties, additionalProperties } = schema
  if (!isObject(value) || properties === undefined) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const next = properties[key]
    if (next !== undefined) return unknownIn(inner, next, `${path}.${key}`)
    return additionalProperties === undefined ? [`${path}.${key}`] : []
  })
}

/**
 * Whether a JSON Pointer leads to a field that specs of a kind have; beyond what the schema lists anything may be.
 * @param tokens of the pointer, unescaped
 */
export const hasSpecField = (kind: string, tokens: readonly string[]): boolean => {
  let schema = specOf(kind)
  for (const token of tokens) {
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) return true
    const { properties, additionalProperties, items } = schema
    const next = items ?? properties?.[token]
    if (next === undefined) return properties === undefined || additionalProperties !== undefined
    schema = next
  }
  return true
}
