import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import { BASE_PATH } from '#apis/hyperfleet.redhat.com/base-path.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Room } from '../storage/room.ts'
import type { SpanDescription, Tracer } from '../tracing/tracer.ts'
import { type AccessControl, type Caller, nameOf } from './access-control.ts'
import { writeAuditLog } from './audit.ts'
import { takeBodyRoom } from './body-room.ts'
import { callerIsLetIn } from './connections.ts'
import { heldUntilClosed } from './held-until-closed.ts'
import type { Operation } from './operation.ts'
import { refuseTags } from './preconditions.ts'
import { sendResponse } from './response.ts'
import { abortWithToken } from './token-lifetime.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

export interface RouteOptions {
  readonly accessControl: AccessControl
  /** For answers in memory. */
  readonly answers: UnsentAnswers
  /** For bodies in memory. */
  readonly bodies: Room
  /** Milliseconds that a request waits for either. */
  readonly bodyPatience: number
  readonly tracer: Tracer
  /** For tokens, and for waits. */
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** For what is written. */
  readonly now: () => Date
  readonly log: Logger
}

/**
 * Serves an operation.
 *
 *   request ─► guard (401, 403, 429) ─► room for its body ─► body read and checked (400) ─► name that it acts for (403) ─► operation, in a span
 *           ─► answer ─► audit log
 */
export const addRoute = (
  app: FastifyInstance,
  operation: Operation,
  { accessControl, answers, bodies, bodyPatience, tracer, clock, now, log }: RouteOptions,
): void => {
  const { method, parameters, query, body } = operation
  /** A watch or a long poll, which mostly waits; other answers, whole lists too, have a place among the requests under way. */
  const waits = ({ query }: FastifyRequest) =>
    operation.lasts === true && (method !== 'GET' || (query as Record<string, unknown>).watch === 'true')
  app.route({
    method,
    url: formatRoute(operation),
    schema: {
      ...(parameters !== undefined && { params: parameters }),
      ...(query !== undefined && { querystring: query }),
      ...(body !== undefined && { body }),
    },
    // Before the body is read: strangers don't get so far.
    onRequest: async (request, reply) => {
      request.caller = await accessControl.authenticate(operation, request.headers)
      request.caller = accessControl.authorize(operation, request.caller, request.headers)
      callerIsLetIn(request.raw.socket)
      if (!waits(request)) heldUntilClosed(reply.raw, accessControl.enter(request.caller))
      // The body of a GET is not read.
      if (method === 'GET') return
      const options = { bodies, caller: nameOf(request.caller, request.ip), patience: bodyPatience }
      request.giveBodyRoomBack = await takeBodyRoom(request.headers, reply.raw, options)
    },
    preValidation: async (request, reply) => {
      const ignored = unknownParameters(request.query as object, query)
      if (ignored.length > 0) reply.header('Muster-Ignored', ignored.join(','))
      if (operation.conditional !== true && method !== 'GET') refuseTags(request.headers)
      if (body !== undefined && request.body === undefined)
        throw new Problem('malformed', 'the request has no body, send a JSON object')
    },
    preHandler: async (request) => {
      const parameters = request.params as Record<string, unknown>
      const name = operation.actsFor?.({ parameters, body: request.body })
      if (name !== undefined) accessControl.authorizeName(requireCaller(request), name)
    },
    handler: async (request, reply) => {
      const caller = requireCaller(request)
      if (operation.lasts) request.giveBodyRoomBack?.()
      if (operation.lasts && caller.expiresAt !== undefined) abortWithToken(request.lifetime, caller.expiresAt, clock)
      if (!waits(request))
        request.giveAnswerRoomBack = await answers.begin(reply.raw, nameOf(caller, request.ip), bodyPatience)
      const call = {
        parameters: request.params as Record<string, unknown>,
        query: request.query as Record<string, unknown>,
        body: request.body,
        headers: request.headers,
        identity: caller.identity,
        caller: nameOf(caller, request.ip),
        tenancy: caller.tenancy,
        time: timestampOf(now()),
        giveAnswerRoomBack: () => request.giveAnswerRoomBack?.(),
        signal: request.lifetime.signal,
      }
      const answer = await tracer.span(describeSpan(operation, request), async (span) => {
        const response = await operation.handle(call)
        span.set({ 'http.response.status_code': response.status })
        return response
      })
      if ('body' in answer && answer.body !== undefined && 'id' in answer.body)
        request.createdId = String(answer.body.id)
      // It has room of its own.
      if ('stream' in answer) request.giveAnswerRoomBack?.()
      const close = 'stream' in answer ? accessControl.openStream(caller, request.ip) : undefined
      try {
        return await sendResponse(request, reply, answer, { caller: call.caller, clock, log })
      } finally {
        close?.()
      }
    },
    onResponse: async (request, reply) => {
      const { caller, problem, id, ip, createdId } = request
      const parameters = {
        ...(createdId !== undefined && { id: createdId }),
        ...(request.params as Record<string, unknown>),
      }
      const { statusCode: status } = reply
      writeAuditLog({ operation, parameters, caller, status, problem, requestId: id, remoteAddress: ip }, log)
    },
  })
}

/** Most names that an answer repeats, and their longest. */
const MAX_IGNORED_NAMES = 10
const MAX_IGNORED_CHARS = 100

/** Query parameters that do nothing. The Go service ignores them without a word; here the answer names them, escaped as in a URL. */
const unknownParameters = (query: object, known: TObject | undefined): string[] =>
  Object.keys(query)
    .filter((name) => name.length <= MAX_IGNORED_CHARS && !Object.hasOwn(known?.properties ?? {}, name))
    .slice(0, MAX_IGNORED_NAMES)
    .map(encodeURIComponent)

/** An operation's path as the router writes it: `/api/hyperfleet/v1/clusters/:id`. */
export const formatRoute = ({ path }: Pick<Operation, 'path'>): string =>
  `${BASE_PATH}${path.replace(/\{(\w+)\}/g, ':$1')}`

/** OpenTelemetry semantic conventions for HTTP servers. */
const describeSpan = (
  { method, path, id }: Operation,
  { headers, id: requestId }: FastifyRequest,
): SpanDescription => ({
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

const requireCaller = ({ caller }: FastifyRequest): Caller => {
  if (caller === undefined) throw new TypeError('no handler runs before its caller is let in')
  return caller
}
