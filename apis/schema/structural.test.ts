import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { amountOrShare } from './amount-or-share.ts'
import { freeObject } from './free.ts'
import { SchemaError, structural } from './structural.ts'

const described = { description: 'D.' }

describe('a schema becomes structural', () => {
  test('fields with a default are there for readers and not required of writers', () => {
    const schema = Type.Object(
      {
        must: Type.String(described),
        may: Type.Optional(Type.Integer(described)),
        defaulted: Type.String({ ...described, default: '10s' }),
      },
      described,
    )
    expect(structural(schema, 'spec')).toEqual({
      type: 'object',
      description: 'D.',
      required: ['must'],
      properties: {
        must: { type: 'string', description: 'D.' },
        may: { type: 'integer', description: 'D.' },
        defaulted: { type: 'string', description: 'D.', default: '10s' },
      },
    })
  })

  test('an object that requires nothing says nothing of what it requires: an empty list is no valid schema', () => {
    const schema = Type.Object({ may: Type.Optional(Type.String(described)) }, described)
    expect(Object.keys(structural(schema, 'spec'))).toEqual(['type', 'description', 'properties'])
  })

  test('an object without fields has no map of them: the API server would not keep it, and the next apply were a conflict', () => {
    expect(structural(Type.Object({}, described), 'status')).toEqual({ type: 'object', description: 'D.' })
  })

  test('a record becomes additional properties', () => {
    const schema = Type.Record(Type.String(), Type.String({ ...described, maxLength: 63 }), {
      ...described,
      maxProperties: 8,
    })
    expect(structural(schema, 'spec')).toEqual({
      type: 'object',
      description: 'D.',
      maxProperties: 8,
      additionalProperties: { type: 'string', description: 'D.', maxLength: 63 },
    })
  })

  test('an enumeration becomes a string with its values', () => {
    expect(structural(Type.Enum(['Watch', 'Poll'], described), 'status.source')).toEqual({
      type: 'string',
      description: 'D.',
      enum: ['Watch', 'Poll'],
    })
  })
})

test('a number or a share becomes an int-or-string', () => {
  expect(structural(amountOrShare({ description: 'D.' }), 'spec.limit')).toEqual({
    'x-kubernetes-int-or-string': true,
    description: 'D.',
    minimum: 1,
    pattern: '^([1-9]|[1-9][0-9]|100)%$',
  })
  const ruled = { 'x-kubernetes-int-or-string': true, description: 'D.', 'x-kubernetes-validations': [] }
  expect(() => structural(Type.Unsafe(ruled), 'spec.limit')).toThrow(
    'spec.limit: the keyword x-kubernetes-validations has no place beside x-kubernetes-int-or-string',
  )
})

test('an object of any fields keeps its type, so that rules see what holds it', () => {
  const kept = { type: 'object', description: 'D.', 'x-kubernetes-preserve-unknown-fields': true }
  expect(structural(freeObject({ description: 'D.' }), 'spec.manifest')).toEqual(kept)
  expect(() => structural(Type.Unsafe({ ...kept, type: 'string' }), 'spec.manifest')).toThrow(
    'spec.manifest: must be of the type object or of none beside x-kubernetes-preserve-unknown-fields',
  )
})

describe('what Kubernetes has no words for is refused with its place', () => {
  const schemaErrorOf = (...args: Parameters<typeof structural>): string => {
    try {
      structural(...args)
    } catch (error) {
      if (error instanceof SchemaError) return error.message
      throw error
    }
    throw new Error('it was accepted')
  }

  test('a union', () => {
    const schema = Type.Object({ port: Type.Union([Type.Integer(), Type.String()], described) }, described)
    expect(schemaErrorOf(schema, 'spec')).toMatchInlineSnapshot(
      `"spec.port: needs one type of object, array, string, integer, number, boolean; unions and references are not structural"`,
    )
  })

  test('a keyword of JSON Schema that OpenAPI lacks', () => {
    const schema = Type.Array(Type.String(described), { ...described, contains: Type.String() })
    expect(schemaErrorOf(schema, 'spec.names')).toMatchInlineSnapshot(
      `"spec.names: the keyword contains has no place in a structural schema"`,
    )
  })

  test('a field without a description', () => {
    const schema = Type.Object({ items: Type.Array(Type.String(), described) }, described)
    expect(schemaErrorOf(schema, 'spec')).toMatchInlineSnapshot(`"spec.items[]: needs a description"`)
  })
})
