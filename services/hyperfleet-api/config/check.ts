import { Ajv, type ErrorObject } from 'ajv'
import { nearest } from '#lib/text/nearest.ts'
import { ConfigError } from './config-error.ts'
import { type ApiConfig, ConfigFile, SET_ELSEWHERE } from './file.ts'

const validate = new Ajv({ allErrors: true, strict: false, verbose: true }).compile<ApiConfig>(ConfigFile)

/** The content of a configuration file, as it was parsed. @throws ConfigError that names everything that is wrong */
export const checkConfig = (content: unknown): ApiConfig => {
  const config = withoutBlanks(content ?? {})
  if (validate(config)) return config
  throw new ConfigError(
    withoutDuplicates(validate.errors ?? [])
      .map(describeError)
      .join('; '),
  )
}

/** A key without a value is a key that isn't there, as in the Go service's file: `parent_kind: ""`. */
const withoutBlanks = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutBlanks)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== '')
      .map(([key, inner]) => [key, withoutBlanks(inner)]),
  )
}

/** Of a value that fits none of several forms, the sentence about the forms says it all. */
const withoutDuplicates = (errors: readonly ErrorObject[]): readonly ErrorObject[] => {
  const forms = errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => schemaPath)
  return errors.filter(({ schemaPath }) => !forms.some((form) => schemaPath.startsWith(`${form}/`)))
}

const describeError = (error: ErrorObject): string => {
  const { keyword, params, parentSchema, message = 'is not valid' } = error
  const path = formatPath(error.instancePath)
  switch (keyword) {
    case 'additionalProperties':
      return describeUnknownKey(path, String(params.additionalProperty), Object.keys(parentSchema?.properties ?? {}))
    case 'required':
      return `${joinPath(path, String(params.missingProperty))} is missing`
    case 'enum':
      return `${path} must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    case 'anyOf':
      return `${path} must be ${parentSchema?.description ?? 'of another form'}`
    default:
      return `${path === '' ? 'the file' : path} ${message}`
  }
}

const describeUnknownKey = (path: string, key: string, valid: readonly string[]): string => {
  const full = joinPath(path, key)
  const elsewhere = Object.hasOwn(SET_ELSEWHERE, full) ? SET_ELSEWHERE[full] : undefined
  if (elsewhere !== undefined) return `${full} is not said in this file, leave it out: ${elsewhere}`
  const close = nearest(key, valid)
  return `${full} is not known${close === undefined ? '' : `; did you mean ${close}?`} (valid: ${valid.join(', ')})`
}

/** `/entities/0/kind` → `entities[0].kind` */
const formatPath = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : joinPath(path, step)), '')

const joinPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
