import Type from 'typebox'

/** `entities`: the kinds that are served, under the Go service's names. What the words mean is checked by `defineEntities`. */

const Length = Type.Integer({ minimum: 1, maximum: 100 })
const Expression = Type.Object({ expression: Type.String({ minLength: 1 }) }, { additionalProperties: false })

const Reference = Type.Object(
  {
    ref_type: Type.String({ description: 'the name under which a resource lists its targets' }),
    target_kind: Type.String(),
    min: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  { additionalProperties: false },
)

const ConditionRule = Type.Object(
  {
    type: Type.String({ minLength: 1, maxLength: 100 }),
    when: Expression,
    output: Type.Object(
      { status: Expression, reason: Expression, message: Expression },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)

const Entity = Type.Object(
  {
    kind: Type.String(),
    plural: Type.String(),
    parent_kind: Type.Optional(Type.String()),
    on_parent_delete: Type.Optional(Type.Enum(['cascade', 'restrict'])),
    spec_schema_name: Type.Optional(Type.String()),
    require_spec_schema: Type.Optional(Type.Boolean()),
    required_adapters: Type.Optional(
      Type.Union(
        [
          Type.Array(Type.String({ minLength: 1, maxLength: 255 })),
          Type.Literal('reporting'),
          Type.Literal('undecided'),
        ],
        {
          description: 'a list of adapter names, reporting or undecided',
        },
      ),
    ),
    references: Type.Optional(Type.Array(Reference)),
    conditions: Type.Optional(Type.Array(ConditionRule)),
    name_min_len: Type.Optional(Length),
    name_max_len: Type.Optional(Length),
  },
  { additionalProperties: false },
)

export const Entities = Type.Array(Entity, { minItems: 1 })
