import Type, { type TSchema } from 'typebox'
import type { JsonObject } from '../../model/resource.ts'

/** Parts that several shapes have. */

export const Time = Type.String({ format: 'date-time', examples: ['2026-01-31T12:00:00.000000Z'] })
export const Generation = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
export const Labels = Type.Record(Type.String(), Type.String(), {
  description: 'Kubernetes label rules hold for keys and values.',
})
export const Open = Type.Unsafe<JsonObject>({ type: 'object' })

export const ObjectReference = Type.Object({ id: Type.String(), kind: Type.String(), href: Type.String() })

/** A field that may be left out. Some clients send null for what they leave out. */
export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
