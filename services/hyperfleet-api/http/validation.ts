import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { type FieldError, Problem } from '../problems/problem.ts'

/**
 * Requests are checked against the operations' schemas. Bodies say what they mean; parameters are text, so `size=5` is
 * read as the number that the schema wants (API-76).
 */
export const validatorCompiler = (): FastifySchemaCompiler<object> => {
  // The schemas are our own: to compile what schemas are checked by takes longer than to compile one of them.
  const options = { strict: false, validateFormats: false, verbose: true, meta: false, validateSchema: false }
  const [untilFirst, all] = [new Ajv(options), new Ajv({ ...options, allErrors: true })]
  return ({ schema, httpPart }) => {
    // Made when it is first asked for: most processes never use most operations.
    let validate: ValidateFunction | undefined
    return (input: unknown) => {
      validate ??= compileOnce(untilFirst, schema)
      const value = httpPart === 'body' ? input : readParameters(schema, input as Readonly<Record<string, unknown>>)
      if (validate(value)) return { value }
      if (JSON.stringify(value).length > MAX_EXPLAINED_CHARS)
        return { error: buildProblem(validate.errors ?? [], httpPart) }
      const explain = compileOnce(all, schema)
      explain(value)
      return { error: buildProblem(explain.errors ?? [], httpPart) }
    }
  }
}

/** Of what is larger only the first error is told: a megabyte can have as many errors as bytes (API-84). */
const MAX_EXPLAINED_CHARS = 16 * 1024

const WHOLE_NUMBER = /^[+-]?\d+$/

/** Numbers and truth values out of text. What is none stays text, and fails its schema; an empty number was not given. */
const readParameters = (schema: object, texts: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { readonly type?: string }>> }
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, value]): [string, unknown][] => {
      const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined
      if (type === 'integer' && value === '') return []
      if (type === 'integer' && typeof value === 'string' && WHOLE_NUMBER.test(value)) return [[name, Number(value)]]
      if (type === 'boolean' && (value === 'true' || value === 'false')) return [[name, value === 'true']]
      return [[name, value]]
    }),
  )
}

/** A schema with an id is used by several routes, and ajv takes each id once. */
const compileOnce = (ajv: Ajv, schema: object): ValidateFunction => {
  const { $id } = schema as { $id?: string }
  return ($id === undefined ? undefined : ajv.getSchema($id)) ?? ajv.compile(schema)
}

const buildProblem = (found: readonly ErrorObject[], part: string | undefined): Problem => {
  const unknown = found.find(({ keyword }) => keyword === 'additionalProperties')
  if (unknown !== undefined && part === 'body')
    return new Problem(
      'malformed',
      `Invalid request format: json: unknown field "${unknown.params.additionalProperty}"`,
    )
  const errors = found.map((error) => ({
    field: formatField(error),
    message: describeKeyword(error),
    constraint: error.keyword,
  }))
  const [first] = errors
  if (part === 'querystring')
    return new Problem(
      'invalid',
      'Invalid query parameters',
      errors.map((error) => ({ ...error, constraint: QUERY_CONSTRAINTS[error.constraint] ?? error.constraint })),
    )
  return new Problem('invalid', first === undefined ? 'the request is not valid' : describeError(first), errors)
}

/** The Go service's names for what parameters break. */
const QUERY_CONSTRAINTS: Readonly<Record<string, string>> = { minimum: 'min', maximum: 'max', type: 'format' }

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  object: 'an object',
  array: 'a list',
  boolean: 'true or false',
}

/** The Go service's words where it has some. */
const describeError = ({ field, message, constraint }: FieldError): string =>
  constraint === 'type' ? `field '${field}' ${message}` : `${field} ${message}`

const formatField = ({ instancePath, keyword, params }: ErrorObject): string => {
  const path = instancePath.split('/').slice(1)
  const full = keyword === 'required' ? [...path, String(params.missingProperty)] : path
  return full.length === 0 ? 'body' : full.join('.')
}

const describeKeyword = ({ keyword, message, params, parentSchema }: ErrorObject): string => {
  if (keyword === 'required') return 'is required'
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  if (keyword === 'type') return `must be ${ARTICLES[String(params.type)] ?? String(params.type)}`
  if (keyword === 'pattern' && parentSchema?.description !== undefined) return describePattern(parentSchema)
  return message ?? 'is not valid'
}

/** People read what a pattern means, not the pattern. */
const describePattern = ({ description, examples }: AnySchemaObject): string => {
  const meaning = String(description)
  return `must be ${meaning.charAt(0).toLowerCase()}${meaning.slice(1).replace(/\.$/, '')}, such as ${examples?.[0]}`
}
