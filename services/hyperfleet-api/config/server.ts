import Type from 'typebox'
import { Jwt } from './jwt.ts'
import { Tenant } from './tenant.ts'

/** `server`: what of the Go service's section is no flag here. */
export const Server = Type.Object(
  {
    openapi_schema_path: Type.Optional(
      Type.String({ minLength: 1, description: 'OpenAPI or JSON Schema file with the schemas of specs' }),
    ),
    jwt: Type.Optional(Jwt),
    tenant: Type.Optional(Tenant),
  },
  { additionalProperties: false },
)
