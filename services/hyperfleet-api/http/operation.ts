import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TObject, TSchema } from 'typebox'
import type { ActingName } from '../auth/bound-names.ts'
import type { Role } from '../auth/role.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import type { Sink } from '../feed/sink.ts'
import type { Timestamp } from '../model/timestamp.ts'

/**
 * One operation of the API: the only place where its path, parameters, body and answers are described. The routes are
 * registered from it, requests are checked against it, and the OpenAPI document is written from it.
 */
export interface Operation<
  Path extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base path, parameters in braces, e.g. `/clusters/{id}`. */
  readonly path: string
  readonly id: string
  readonly summary: string
  /** More than the summary, for the OpenAPI document. */
  readonly description?: string
  readonly tag: string
  /** The least role that a caller must have. */
  readonly role: Role
  /** It keeps to `call.tenancy`. An operation that doesn't is for callers of the system only once there are tenants. */
  readonly tenants?: true
  /** In whose name it acts: the caller must be bound to that (API-80). */
  actsFor?(request: { readonly parameters: Static<Path>; readonly body: Static<Body> }): ActingName
  /** It may last as long as the caller likes: a stream, or a long poll. It ends with the caller's token (API-81). */
  readonly lasts?: true
  /** It looks at `If-Match` and `If-None-Match` itself. An operation that doesn't refuses to write for a certain state. */
  readonly conditional?: true
  readonly parameters?: Path
  readonly query?: Query
  readonly body?: Body
  readonly responses: Readonly<Record<number, ResponseDescription>>
  handle(call: Call<Static<Path>, Static<Query>, Static<Body>>): Promise<OperationResponse>
}

export interface ResponseDescription {
  readonly description: string
  readonly schema?: TSchema
  /** Default `application/json`. */
  readonly mediaType?: string
  /** Header name to what it says. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that fits its operation's schemas. */
export interface Call<Path, Query, Body> {
  readonly parameters: Path
  readonly query: Query
  readonly body: Body
  readonly headers: IncomingHttpHeaders
  /** The caller; stamped on what is written. */
  readonly identity: string
  /** Tells callers apart: by their tokens, or without one by their addresses. */
  readonly caller: string
  /** Whose resources the caller sees, and makes; undefined sees everything and makes resources without a tenant. */
  readonly tenancy: Tenancy | undefined
  /** When the request came. */
  readonly time: Timestamp
  /** Gives back the room of the answer that is to be made, for what waits for a turn of another kind, by which so many are made at a time as well. API-205 */
  readonly giveAnswerRoomBack: () => void
  /** Aborted when the caller is gone, the server stops, or, of an operation that lasts, with TOKEN_EXPIRED. */
  readonly signal: AbortSignal
}

export type OperationResponse =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: object }
  | JsonResponse
  | StreamedResponse

/** A body that is JSON already. */
interface JsonResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json: string | Buffer
  /** Called when nothing reads the body any more; not where its connection breaks before. */
  readonly onSent?: () => void
}

/** A body that is written until the returned promise resolves. */
export interface StreamedResponse {
  readonly status: 200
  readonly headers?: Readonly<Record<string, string>>
  readonly mediaType: 'text/event-stream' | 'application/json'
  stream(sink: Sink): Promise<void>
}

/** Ties an operation's handler to its schemas' types, and forgets them again so that operations of all shapes fit one list. */
export const operation = <Path extends TObject, Query extends TObject, Body extends TSchema>(
  description: Operation<Path, Query, Body>,
): Operation => description as unknown as Operation
