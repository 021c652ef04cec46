import Type from 'typebox'

export const Kind = Type.Object(
  {
    kind: Type.String(),
    plural: Type.String({ description: 'As paths name it.' }),
    parent_kind: Type.Optional(Type.String()),
    required_adapters: Type.Union([Type.Literal('reporting'), Type.Array(Type.String())], {
      description:
        'The adapters whose reports a resource waits for before it is Ready; `reporting`: every adapter that has reported, and one at least.',
    }),
  },
  { $id: 'Kind', description: 'A kind that is served.' },
)
