import Type from 'typebox'
import { Time } from './values.ts'

export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String(),
    timestamp: Time,
    trace_id: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({ field: Type.String(), message: Type.String(), constraint: Type.Optional(Type.String()) }),
      ),
    ),
  },
  { $id: 'Problem', description: 'Problem details, RFC 9457' },
)
