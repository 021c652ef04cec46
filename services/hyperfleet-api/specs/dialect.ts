import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const OPTIONS = { allErrors: true, strict: false, validateFormats: true, logger: false } as const

/** A validator for the dialect that a document is written in: OpenAPI 3.0 and drafts up to 7 differ from what came later. */
export const validatorFor = (document: unknown): Ajv => {
  const { openapi, $schema } = (document ?? {}) as { readonly openapi?: unknown; readonly $schema?: unknown }
  const isOld = String(openapi).startsWith('3.0') || /draft-0[4-7]/.test(String($schema))
  // Both have the same methods; the types differ in name only.
  const ajv = isOld ? new Ajv(OPTIONS) : (new Ajv2020(OPTIONS) as unknown as Ajv)
  formats.default(ajv)
  return ajv
}

/** OpenAPI 3.0 says `minimum: 1, exclusiveMinimum: true` where JSON Schema says `exclusiveMinimum: 1`. */
export const withNumericLimits = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withNumericLimits)
  if (typeof value !== 'object' || value === null) return value
  const object = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNumericLimits(inner)]))
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof object[exclusive] !== 'boolean') continue
    if (object[exclusive] && typeof object[limit] === 'number') {
      object[exclusive] = object[limit]
      delete object[limit]
    } else delete object[exclusive]
  }
  return object
}
