import type { TSchema } from 'typebox'
import { errorOf } from '#lib/errors/error-of.ts'
import { APIS_ERRORS } from '../errors.ts'
import type { Rule } from './rule.ts'

/** Keywords that the API server takes as they are. Kubernetes: JSONSchemaProps, structural schemas. */
const PLAIN = [
  'description',
  'format',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'default',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const

const PRESERVE = 'x-kubernetes-preserve-unknown-fields'
const INT_OR_STRING = 'x-kubernetes-int-or-string'

/** Keywords that take part in the translation below, so are not copied. */
const TRANSLATED = ['type', 'properties', 'required', 'items', 'patternProperties']

/**
 * The part of OpenAPI v3 that Kubernetes calls structural: every value has one type, nothing is a reference or a choice.
 * Only what is kept as it is (`free`) has none.
 */
export interface StructuralSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly default?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly additionalProperties?: StructuralSchema
  readonly items?: StructuralSchema
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular'
  readonly 'x-kubernetes-validations'?: readonly Rule[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-int-or-string'?: true
}

/** A schema that Kubernetes has no words for: a mistake in the kind's file, found when the manifests are generated. */
export class SchemaError extends errorOf(APIS_ERRORS, 'SchemaError') {
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`)
  }
}

type StructuralType = NonNullable<StructuralSchema['type']>

const TYPES: readonly StructuralType[] = ['object', 'array', 'string', 'integer', 'number', 'boolean']

type Json = { readonly [keyword: string]: unknown }

/** An enumeration has no type of its own in TypeBox; ours are all texts. */
const typeOf = (schema: Json, path: string): StructuralType => {
  const declared = schema.enum === undefined ? schema.type : 'string'
  const type = TYPES.find((known) => known === declared)
  if (type === undefined)
    throw new SchemaError(path, `needs one type of ${TYPES.join(', ')}; unions and references are not structural`)
  return type
}

/** A field with a default may be left out by the writer, and the reader still always finds it: required for us, not for them. */
const requiredOf = (schema: Json): string[] => {
  const properties = schema.properties as Record<string, Json>
  return ((schema.required ?? []) as string[]).filter((name) => properties[name]?.default === undefined)
}

/** What is kept as it is: the shapes it may have are for the reader's own check. */
const FREE = ['type', 'description', 'anyOf', PRESERVE]

const keptAsItIs = (schema: Json, path: string): StructuralSchema => {
  for (const keyword of Object.keys(schema))
    if (!FREE.includes(keyword)) throw new SchemaError(path, `the keyword ${keyword} has no place beside ${PRESERVE}`)
  if (typeof schema.description !== 'string') throw new SchemaError(path, 'needs a description')
  if (schema.type === undefined) return { description: schema.description, [PRESERVE]: true }
  if (schema.type !== 'object') throw new SchemaError(path, `must be of the type object or of none beside ${PRESERVE}`)
  return { type: schema.type, description: schema.description, [PRESERVE]: true }
}

/** Bounds hold for the number, the pattern for the text. Rules would cost as if the text had no bound, so there are none. */
const NUMBER_OR_TEXT = ['description', 'minimum', 'maximum', 'pattern', INT_OR_STRING]

const numberOrText = (schema: Json, path: string): StructuralSchema => {
  for (const keyword of Object.keys(schema))
    if (!NUMBER_OR_TEXT.includes(keyword))
      throw new SchemaError(path, `the keyword ${keyword} has no place beside ${INT_OR_STRING}`)
  if (typeof schema.description !== 'string') throw new SchemaError(path, 'needs a description')
  return { ...schema }
}

const translate = (schema: Json, path: string): StructuralSchema => {
  if (schema[PRESERVE] === true) return keptAsItIs(schema, path)
  if (schema[INT_OR_STRING] === true) return numberOrText(schema, path)
  const type = typeOf(schema, path)
  for (const keyword of Object.keys(schema))
    if (!TRANSLATED.includes(keyword) && !PLAIN.some((plain) => plain === keyword))
      throw new SchemaError(path, `the keyword ${keyword} has no place in a structural schema`)
  if (typeof schema.description !== 'string') throw new SchemaError(path, 'needs a description')

  const plain = Object.fromEntries(PLAIN.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]])))
  if (type === 'array') return { type, ...plain, items: translate(schema.items as Json, `${path}[]`) }
  if (type !== 'object') return { type, ...plain }
  if (schema.patternProperties !== undefined) {
    const [value] = Object.values(schema.patternProperties as Record<string, Json>)
    return { type, ...plain, additionalProperties: translate(value ?? {}, `${path}.*`) }
  }
  const required = requiredOf(schema)
  const properties = Object.entries(schema.properties as Record<string, Json>)
  return {
    type,
    ...plain,
    ...(required.length > 0 && { required }),
    // The API server keeps no empty map: the next apply of the definition would be told of a conflict.
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.map(([name, value]) => [name, translate(value, `${path}.${name}`)])),
    }),
  }
}

/**
 * Turns a TypeBox schema into a structural OpenAPI v3 schema.
 * @param path Where the schema stands in the object, e.g. `spec`; error messages begin with it.
 * @throws SchemaError when a field has no description, or uses a keyword or a type that Kubernetes does not know.
 */
export const structural = (schema: TSchema, path: string): StructuralSchema =>
  translate(schema as unknown as Json, path)
