import { describe, expect, test } from 'vitest'
import type { Problem } from '../problems/problem.ts'
import { validatorFor, withNumericLimits } from './dialect.ts'
import { compileSchemas, type SchemaRequirement } from './schemas.ts'

const compiled = (document: unknown, names: readonly string[] = ['ClusterSpec'], isRequired = true) => {
  const missing: SchemaRequirement[] = []
  const requirements = names.map((name) => ({ kind: 'Cluster', name, isRequired }))
  const schemas = compileSchemas(validatorFor(document), withNumericLimits(document), requirements, (one) =>
    missing.push(one),
  )
  return { schemas, missing }
}

const openApi = (schemas: object, version = '3.1.0') => ({ openapi: version, components: { schemas } })

const region = { type: 'object', required: ['region'], properties: { region: { type: 'string' } } }

const errorsOf = (check: () => void): readonly object[] => {
  try {
    check()
  } catch (error) {
    return (error as Problem).errors
  }
  return []
}

test.each([
  ['an OpenAPI 3.1 document', openApi({ ClusterSpec: region })],
  ['an OpenAPI 3.0 document', openApi({ ClusterSpec: region }, '3.0.3')],
  ['a JSON Schema', { $defs: { ClusterSpec: region } }],
  [
    'an older JSON Schema',
    { $schema: 'http://json-schema.org/draft-07/schema#', definitions: { ClusterSpec: region } },
  ],
])('the schema is found in %s', (_case, document) => {
  const { schemas } = compiled(document)
  expect(errorsOf(() => schemas.check('ClusterSpec', { region: 'eu' }))).toEqual([])
  expect(errorsOf(() => schemas.check('ClusterSpec', {}))).toEqual([
    { field: 'spec.region', message: 'is required', constraint: 'required' },
  ])
})

test('every error names its field, through references between schemas', () => {
  const { schemas } = compiled(
    openApi({
      ClusterSpec: {
        type: 'object',
        additionalProperties: false,
        properties: {
          pools: { type: 'array', items: { $ref: '#/components/schemas/Pool' } },
          tier: { enum: ['dev', 'prod'] },
          until: { type: 'string', format: 'date-time' },
        },
      },
      Pool: { type: 'object', required: ['size'], properties: { size: { type: 'integer', minimum: 1 } } },
    }),
  )
  const spec = { pools: [{ size: 0 }, {}], tier: 'x', until: 'soon', colour: 'red' }
  expect(errorsOf(() => schemas.check('ClusterSpec', spec))).toEqual([
    { field: 'spec.colour', message: 'is not known', constraint: 'additionalProperties' },
    { field: 'spec.pools.0.size', message: 'must be >= 1', constraint: 'minimum' },
    { field: 'spec.pools.1.size', message: 'is required', constraint: 'required' },
    { field: 'spec.tier', message: 'must be one of dev, prod', constraint: 'enum' },
    { field: 'spec.until', message: 'must match format "date-time"', constraint: 'format' },
  ])
})

test('OpenAPI 3.0 words mean what they mean there', () => {
  const { schemas } = compiled(
    openApi(
      {
        ClusterSpec: {
          type: 'object',
          properties: {
            share: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: false },
            zone: { type: 'string', nullable: true },
          },
        },
      },
      '3.0.3',
    ),
  )
  expect(errorsOf(() => schemas.check('ClusterSpec', { share: 1, zone: null }))).toEqual([])
  expect(errorsOf(() => schemas.check('ClusterSpec', { share: 0 }))).toMatchObject([{ field: 'spec.share' }])
})

describe('a schema that is not there', () => {
  test('keeps the server from serving when it is required, and names the nearest', () => {
    expect(() => compiled(openApi({ ClusterSpecs: region }))).toThrow(
      'Cluster requires the schema ClusterSpec, which is not there; did you mean ClusterSpecs?',
    )
  })

  test('is told when it is not, and specs may be anything', () => {
    const { schemas, missing } = compiled(openApi({}), ['ClusterSpec'], false)
    expect(missing).toEqual([{ kind: 'Cluster', name: 'ClusterSpec', isRequired: false }])
    expect(errorsOf(() => schemas.check('ClusterSpec', { any: 'thing' }))).toEqual([])
  })
})

test.each([
  [
    'a reference to nowhere',
    openApi({ ClusterSpec: { $ref: '#/components/schemas/Nothing' } }),
    "can't resolve reference",
  ],
  [
    'a type that is none',
    openApi({ ClusterSpec: { type: 'text' } }),
    "the schema ClusterSpec can't be used: type must be JSONType",
  ],
  ['a list', [], 'must be an OpenAPI document or a JSON Schema'],
])('refuses %s', (_case, document, message) => {
  expect(() => compiled(document)).toThrow(message)
})
