import Type from 'typebox'

export const Kind = Type.Object(
  {
    kind: Type.String(),
    plural: Type.String({ description: 'As paths name it.' }),
    parent_kind: Type.Optional(Type.String()),
    required_adapters: Type.Union([Type.Literal('reporting'), Type.Literal('undecided'), Type.Array(Type.String())], {
      description:
        'The adapters whose reports a resource waits for before it is Ready; `reporting`: every adapter that has reported, and one at least; `undecided`: none is Ready before names stand here.',
    }),
  },
  { $id: 'Kind', description: 'A kind that is served.' },
)
