import Type from 'typebox'
import { describe, expect, test } from 'vitest'
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

  test('a field that nobody described', () => {
    const schema = Type.Object({ items: Type.Array(Type.String(), described) }, described)
    expect(schemaErrorOf(schema, 'spec')).toMatchInlineSnapshot(`"spec.items[]: needs a description"`)
  })
})
