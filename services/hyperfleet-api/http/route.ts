import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import type { Logger } from '#operator/model/log.ts'
import { BASE_PATH } from '../model/entity.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { SpanDescription, Tracer } from '../tracing/tracer.ts'
import { sendAnswer } from './answer.ts'
import { audit } from './audit.ts'
import type { Caller, Guard } from './guard.ts'
import type { Operation } from './operation.ts'

export interface RouteOptions {
  readonly guard: Guard
  readonly tracer: Tracer
  readonly now: () => Date
  readonly log: Logger
}

/**
 * Serves an operation.
 *
 *   request ─► guard (401, 403, 429) ─► body read and checked (400) ─► operation, in a span ─► answer ─► audit log
 */
export const addRoute = (
  app: FastifyInstance,
  operation: Operation,
  { guard, tracer, now, log }: RouteOptions,
): void => {
  const { method, parameters, query, body } = operation
  app.route({
    method,
    url: routeOf(operation),
    schema: {
      ...(parameters !== undefined && { params: parameters }),
      ...(query !== undefined && { querystring: query }),
      ...(body !== undefined && { body }),
    },
    // Before the body is read: strangers don't get so far.
    onRequest: async (request) => {
      request.caller = await guard.identify(operation, request.headers)
      request.caller = guard.admit(operation, request.caller, request.headers)
    },
    preValidation: async (request, reply) => {
      const ignored = unknownParameters(request.query as object, query)
      if (ignored.length > 0) reply.header('Muster-Ignored', ignored.join(','))
      if (body !== undefined && request.body === undefined)
        throw new Problem('malformed', 'the request has no body, send a JSON object')
    },
    handler: async (request, reply) => {
      const caller = callerOf(request)
      const call = {
        parameters: request.params as Record<string, unknown>,
        query: request.query as Record<string, unknown>,
        body: request.body,
        headers: request.headers,
        identity: caller.identity,
        tenancy: caller.tenancy,
        time: timestampOf(now()),
        signal: request.gone,
      }
      const answer = await tracer.span(spanOf(operation, request), async (span) => {
        const given = await operation.handle(call)
        span.set({ 'http.response.status_code': given.status })
        return given
      })
      if ('body' in answer && answer.body !== undefined && 'id' in answer.body) request.made = String(answer.body.id)
      const close = 'stream' in answer ? guard.openStream(caller) : undefined
      try {
        return await sendAnswer(request, reply, answer, log)
      } finally {
        close?.()
      }
    },
    onResponse: async (request, reply) => {
      const { caller, problem, id, ip, made } = request
      const parameters = { ...(made !== undefined && { id: made }), ...(request.params as Record<string, unknown>) }
      const { statusCode: status } = reply
      audit({ operation, parameters, caller, status, problem, requestId: id, remoteAddress: ip }, log)
    },
  })
}

/** Most names that an answer repeats, and their longest. */
const MOST_IGNORED = 10
const LONGEST_IGNORED = 100

/** Query parameters that do nothing. The peer ignores them without a word; here the answer names them, escaped as in a URL. */
const unknownParameters = (given: object, known: TObject | undefined): string[] =>
  Object.keys(given)
    .filter((name) => name.length <= LONGEST_IGNORED && !Object.hasOwn(known?.properties ?? {}, name))
    .slice(0, MOST_IGNORED)
    .map(encodeURIComponent)

/** An operation's path as the router writes it: `/api/hyperfleet/v1/clusters/:id`. */
export const routeOf = ({ path }: Pick<Operation, 'path'>): string => `${BASE_PATH}${path.replace(/\{(\w+)\}/g, ':$1')}`

/** OpenTelemetry semantic conventions for HTTP servers. */
const spanOf = ({ method, path, id }: Operation, { headers, id: requestId }: FastifyRequest): SpanDescription => ({
  name: `${method} ${BASE_PATH}${path}`,
  kind: 'server',
  attributes: {
    'http.request.method': method,
    'http.route': `${BASE_PATH}${path}`,
    'hyperfleet.operation': id,
    'hyperfleet.request_id': requestId,
  },
  parent: typeof headers.traceparent === 'string' ? headers.traceparent : undefined,
})

const callerOf = ({ caller }: FastifyRequest): Caller => {
  if (caller === undefined) throw new TypeError('no handler runs before its caller is let in')
  return caller
}
