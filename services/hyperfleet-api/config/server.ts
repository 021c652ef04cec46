import Type from 'typebox'

/** `server`: what of the peer's section is no flag here. */
export const Server = Type.Object(
  {
    openapi_schema_path: Type.Optional(
      Type.String({ minLength: 1, description: 'OpenAPI or JSON Schema file with the schemas of specs' }),
    ),
  },
  { additionalProperties: false },
)
