import type { TObject, TSchema } from 'typebox'
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import { EXAMPLES } from './examples.ts'
import type { Operation } from './operation.ts'
import { NAMED_SCHEMAS } from './schemas/named.ts'

/** An OpenAPI 3.1 document, as far as this API's has it. */
export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, object>>
    readonly schemas: Readonly<Record<string, SchemaObject>>
  }
}

export interface OperationObject {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: true; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema: SchemaObject }>>

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: SchemaObject
}

/** The parts of a JSON Schema that the page for people looks at. */
export interface SchemaObject {
  readonly $ref?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaObject>>
  readonly items?: SchemaObject
}

/** The OpenAPI 3.1 document of the operations that are served. */
export const openApiDocument = (operations: readonly Operation[], version: string): OpenApi => {
  const paths: Record<string, Record<string, OperationObject>> = {}
  for (const operation of operations) {
    const path = `${BASE_PATH}${operation.path}`
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'HyperFleet API',
      version,
      description:
        'Resources and what should be true of them, what adapters report, and events for the clients that act on it.',
    },
    paths: { ...paths, ...DOCUMENT_OPERATIONS },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: Object.fromEntries(NAMED_SCHEMAS.map(describeSchema)),
    },
  }
}

const describeSchema = (schema: TSchema): [string, SchemaObject] => {
  const { $id = '' } = schema as { $id?: string }
  const example = EXAMPLES[$id]
  return [$id, { ...toJsonSchema(schema), ...(example !== undefined && { examples: [example] }) }]
}

const describeOperation = ({
  id,
  summary,
  description,
  tag,
  role,
  parameters,
  query,
  body,
  responses,
}: Operation): OperationObject => ({
  operationId: id,
  summary,
  ...(description !== undefined && { description }),
  tags: [tag],
  // OpenAPI 3.1: a scheme other than OAuth2 lists the roles that are needed.
  security: [{ bearer: [role] }],
  parameters: [...describeParameters('path', parameters), ...describeParameters('query', query)],
  ...(body !== undefined && {
    requestBody: { required: true, content: { 'application/json': { schema: referTo(body) } } },
  }),
  responses: {
    ...Object.fromEntries(
      Object.entries(responses).map(([status, { description, schema, mediaType = 'application/json', headers }]) => [
        status,
        {
          description,
          ...(schema !== undefined && { content: { [mediaType]: { schema: referTo(schema) } } }),
          ...(Number(status) >= 400 && { content: PROBLEM }),
          ...(headers !== undefined && {
            headers: Object.fromEntries(
              Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
            ),
          }),
        },
      ]),
    ),
    default: {
      description: 'What is wrong',
      content: PROBLEM,
    },
  },
})

const PROBLEM: Content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

const describeDocument = (operationId: string, summary: string, type: string, schema: object) => ({
  get: {
    operationId,
    summary,
    tags: ['API'],
    security: [],
    responses: { 200: { description: summary, content: { [type]: { schema } } } },
  },
})

const API_FIELDS = ['id', 'href', 'kind', 'version', 'build_time'] as const

/** What every client may read without authentication; see self-description.ts. */
const DOCUMENT_OPERATIONS: OpenApi['paths'] = {
  '/api/hyperfleet': describeDocument('getApi', 'What this API is', 'application/json', {
    type: 'object',
    required: [...API_FIELDS],
    properties: Object.fromEntries(API_FIELDS.map((name) => [name, { type: 'string' }])),
  }),
  [`${BASE_PATH}/openapi`]: describeDocument('getOpenApi', 'This document', 'application/json', { type: 'object' }),
  [`${BASE_PATH}/openapi.html`]: describeDocument('getOpenApiPage', 'This document for people', 'text/html', {
    type: 'string',
  }),
}

const describeParameters = (place: 'path' | 'query', schema: TObject | undefined): Parameter[] =>
  Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path',
    schema: toJsonSchema(property as TSchema),
  }))

const referTo = (schema: TSchema): SchemaObject => {
  const { $id } = schema as { $id?: string }
  return $id === undefined ? toJsonSchema(schema) : { $ref: `#/components/schemas/${$id}` }
}

/** A TypeBox schema as plain JSON Schema whose references point into the document. */
const toJsonSchema = (schema: TSchema): SchemaObject =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? `#/components/schemas/${value}` : key === '$id' ? undefined : value,
  ) as SchemaObject
