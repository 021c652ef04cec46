import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { nearest } from '#lib/text/nearest.ts'
import { API_ERRORS } from '../errors.ts'
import type { JsonObject } from '../model/resource.ts'
import { type FieldError, Problem } from '../problems/problem.ts'

/** The schemas that specs must fit, from one document: an OpenAPI document's components, or a JSON Schema's definitions. */
export interface SpecSchemas {
  /** @throws Problem invalid, with an error a field; nothing for a name that is not there */
  check(name: string | undefined, spec: JsonObject): void
}

/** For kinds whose specs may be anything. */
export const NO_SPEC_SCHEMAS: SpecSchemas = { check() {} }

/** Schemas that can't be used; the message says why, without the file's name. */
export class SpecSchemaError extends errorOf(API_ERRORS, 'SpecSchemaError') {}

/** Which schemas a document must and may have. */
export interface SchemaRequirement {
  readonly kind: string
  readonly name: string
  readonly isRequired: boolean
}

/** Where documents keep named schemas: OpenAPI 3, JSON Schema 2020-12, JSON Schema up to draft-07. */
const PLACES = ['components/schemas', '$defs', 'definitions'] as const
/** Most errors that one answer tells. */
const MAX_ERRORS = 100

/**
 * Makes the wanted schemas of a document ready.
 * @param ajv One of the document's dialect.
 * @param missing Told of wanted schemas that are not there and need not be.
 * @throws SpecSchemaError
 */
export const compileSchemas = (
  ajv: Ajv,
  document: unknown,
  requirements: readonly SchemaRequirement[],
  missing: (schema: SchemaRequirement) => void,
): SpecSchemas => {
  const place = PLACES.find((place) => schemasAt(document, place) !== undefined)
  const schemas = (place && schemasAt(document, place)) ?? {}
  const compiled = new Map<string, ValidateFunction>()
  addDocument(ajv, document)
  for (const schema of requirements) {
    const { kind, name, isRequired } = schema
    if (Object.hasOwn(schemas, name)) compiled.set(name, compileSchema(ajv, `#/${place}/${pointer(name)}`, name))
    else if (isRequired)
      throw new SpecSchemaError(`${kind} requires the schema ${name}, ${describeMissing(name, schemas)}`)
    else missing(schema)
  }
  return {
    check(name, spec) {
      const validate = name === undefined ? undefined : compiled.get(name)
      if (validate === undefined || validate(spec)) return
      throw new Problem('invalid', `Invalid ${name}`, (validate.errors ?? []).slice(0, MAX_ERRORS).map(buildFieldError))
    },
  }
}

const DOCUMENT = 'document'

const addDocument = (ajv: Ajv, document: unknown): void => {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new SpecSchemaError('must be an OpenAPI document or a JSON Schema, this is neither')
  try {
    ajv.addSchema(document, DOCUMENT)
  } catch (error) {
    throw new SpecSchemaError(messageOf(error), { cause: error })
  }
}

const compileSchema = (ajv: Ajv, reference: string, name: string): ValidateFunction => {
  try {
    return ajv.compile({ $ref: `${DOCUMENT}${reference}` })
  } catch (error) {
    throw new SpecSchemaError(`the schema ${name} can't be used: ${messageOf(error)}`, { cause: error })
  }
}

const schemasAt = (document: unknown, place: string): Readonly<Record<string, unknown>> | undefined => {
  let at = document
  for (const step of place.split('/')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined
    at = (at as Record<string, unknown>)[step]
  }
  return typeof at === 'object' && at !== null ? (at as Record<string, unknown>) : undefined
}

const pointer = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

const describeMissing = (name: string, schemas: object): string => {
  const names = Object.keys(schemas)
  const close = nearest(name, names)
  return close === undefined ? `which is not there (of ${names.length})` : `which is not there; did you mean ${close}?`
}

const buildFieldError = ({ instancePath, keyword, params, message }: ErrorObject): FieldError => {
  const missing = keyword === 'required' ? [String(params.missingProperty)] : []
  const unknown = keyword === 'additionalProperties' ? [String(params.additionalProperty)] : []
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return {
    field: ['spec', ...steps, ...missing, ...unknown].join('.'),
    message: describeKeyword(keyword, params, message),
    constraint: keyword,
  }
}

const describeKeyword = (keyword: string, params: Record<string, unknown>, message = 'is not valid'): string => {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not known'
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  return message
}
