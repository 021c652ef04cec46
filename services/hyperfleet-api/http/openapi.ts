import type { TObject, TSchema } from 'typebox'
import { BASE_PATH } from '../model/entity.ts'
import type { Operation } from './operation.ts'
import { NAMED } from './schemas.ts'

/** The OpenAPI 3.1 document of the operations that are served. */
export const openApiDocument = (operations: readonly Operation[], version: string): object => {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const path = `${BASE_PATH}${operation.path}`
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'HyperFleet API', version },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: Object.fromEntries(NAMED.map((schema) => [(schema as { $id?: string }).$id, plain(schema)])),
    },
  }
}

const describe = ({ id, summary, tag, role, parameters, query, body, responses }: Operation): object => ({
  operationId: id,
  summary,
  tags: [tag],
  // OpenAPI 3.1: a scheme other than OAuth2 lists the roles that are needed.
  security: [{ bearer: [role] }],
  parameters: [...listParameters('path', parameters), ...listParameters('query', query)],
  ...(body !== undefined && {
    requestBody: { required: true, content: { 'application/json': { schema: reference(body) } } },
  }),
  responses: {
    ...Object.fromEntries(
      Object.entries(responses).map(([status, { description, schema, mediaType = 'application/json', headers }]) => [
        status,
        {
          description,
          ...(schema !== undefined && { content: { [mediaType]: { schema: reference(schema) } } }),
          ...(headers !== undefined && {
            headers: Object.fromEntries(
              Object.entries(headers).map(([name, said]) => [name, { description: said, schema: { type: 'string' } }]),
            ),
          }),
        },
      ]),
    ),
    default: {
      description: 'What is wrong',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  },
})

const listParameters = (place: 'path' | 'query', schema: TObject | undefined): object[] =>
  Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path',
    schema: plain(property as TSchema),
  }))

const reference = (schema: TSchema): object => {
  const { $id } = schema as { $id?: string }
  return $id === undefined ? plain(schema) : { $ref: `#/components/schemas/${$id}` }
}

/** A TypeBox schema as plain JSON Schema whose references point into the document. */
const plain = (schema: TSchema): object =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? `#/components/schemas/${value}` : key === '$id' ? undefined : value,
  ) as object
