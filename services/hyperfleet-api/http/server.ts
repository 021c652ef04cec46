import type { SecureContextOptions } from 'node:tls'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from '#operator/model/log.ts'
import type { RequestMetrics } from '../metrics/metrics.ts'
import { BASE_PATH } from '../model/entity.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem, problemBody } from '../problems/problem.ts'
import { sqlState } from '../storage/database.ts'
import type { SpanDescription, Tracer } from '../tracing/tracer.ts'
import { audit } from './audit.ts'
import { compressed } from './compression.ts'
import { checkDocument, checkText } from './document-check.ts'
import { addDocuments, DOCUMENT_PATHS } from './documents.ts'
import type { Caller, Guard } from './guard.ts'
import type { OpenApi } from './openapi.ts'
import type { Answer, Operation } from './operation.ts'
import { endStream, sinkOf } from './sink.ts'
import { createTransport, type Patience, refuseBroken } from './transport.ts'
import { validatorCompiler } from './validation.ts'

/** What this API can do beyond the peer's, told by every answer. */
const FEATURES = 'labels,watch,events'
const BODY_LIMIT = 1024 * 1024
/** Characters of a path with its query; the longest `search` (4096) fits even when all of it is escaped. */
const URL_LIMIT = 14 * 1024
const SECOND = 1_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborted when the caller is gone or the server stops. */
    gone: AbortSignal
    /** Set as soon as it is known who asks. */
    caller: Caller | undefined
    /** What the request was refused or failed with. */
    problem: Problem | undefined
    /** Id of what the request made. */
    made: string | undefined
  }
}

export interface ServerOptions {
  readonly operations: readonly Operation[]
  readonly openApi: OpenApi
  readonly version: string
  readonly newId: () => string
  readonly now: () => Date
  readonly stopping: AbortSignal
  readonly metrics: RequestMetrics
  readonly guard: Guard
  readonly tracer: Tracer
  readonly patience: Patience
  readonly tls?: SecureContextOptions | undefined
  readonly log: Logger
}

/** The HTTP server of the API, not yet listening. */
export const createServer = (options: ServerOptions): FastifyInstance => {
  const { operations, openApi, version, newId, now, stopping, metrics, patience, tls, log } = options
  const sendProblem = (request: FastifyRequest, reply: FastifyReply, problem: Problem) => {
    const path = pathOf(request)
    request.problem = problem
    const body = problemBody(problem, { path, traceId: request.id, time: timestampOf(now()) })
    if (problem.status === 401) reply.header('WWW-Authenticate', 'Bearer')
    return reply
      .code(problem.status)
      .headers(problem.headers)
      .type('application/problem+json')
      .send(jsonBytes(JSON.stringify(body)))
  }
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    genReqId: newId,
    requestIdHeader: false,
    // Longer parts of a path are for the operations to refuse, in their own words.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: URL_LIMIT },
    // What the router refuses before there is a route: Fastify types the reply for a server that isn't there yet.
    frameworkErrors: (_error, request, reply) =>
      void sendProblem(
        request as FastifyRequest,
        reply as unknown as FastifyReply,
        new Problem('malformed', 'the URL can’t be read: a % in it must be followed by two digits of a UTF-8 byte'),
      ),
    serverFactory: (handler) => createTransport(handler, patience, tls),
    clientErrorHandler: (error, socket) => refuseBroken(error, socket, timestampOf(now())),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  })
  app.setValidatorCompiler(validatorCompiler())
  acceptAnyContentType(app)
  app.decorateRequest('gone')
  app.decorateRequest('caller')
  app.decorateRequest('problem')
  app.decorateRequest('made')

  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id).header('Muster-Features', FEATURES).header('Vary', 'Authorization')
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    request.gone = AbortSignal.any([left.signal, stopping])
    if (request.url.length > URL_LIMIT)
      throw new Problem('urlTooLong', `the path and its query must have at most ${URL_LIMIT} characters`)
  })
  app.addHook('preValidation', async (request) => {
    for (const value of Object.values(request.query as object).flat()) checkText(String(value))
    for (const value of Object.values(request.params as object)) checkText(String(value))
    if (request.body !== undefined) checkDocument(request.body)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    // A connection that is kept would keep the server from closing.
    if (stopping.aborted) reply.header('Connection', 'close')
    if (!Buffer.isBuffer(payload)) return payload
    const smaller = await compressed(payload, request.headers['accept-encoding'])
    if (smaller === undefined) return payload
    reply.header('Content-Encoding', 'gzip').header('Vary', 'Authorization, Accept-Encoding')
    return smaller
  })
  app.addHook('onResponse', async (request, reply) => {
    const template = request.routeOptions.url?.replace(/:\w+/g, '-') ?? 'unknown'
    metrics.observe(request.method, template, reply.statusCode, reply.elapsedTime / SECOND)
  })

  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = asProblem(error)
    if (problem.status >= 500)
      log.error('a request failed', {
        method: request.method,
        path: pathOf(request),
        requestId: request.id,
        error: error.stack,
      })
    return sendProblem(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(request, reply, new Problem('unknownPath', `no endpoint at ${pathOf(request)}`)),
  )
  for (const operation of operations) addRoute(app, operation, options)
  addDocuments(app, openApi, version)
  for (const url of Object.values(DOCUMENT_PATHS)) refuseOtherMethods(app, url, new Set(['GET']), sendProblem)
  for (const [url, methods] of methodsByUrl(operations)) refuseOtherMethods(app, url, methods, sendProblem)
  return app
}

const addRoute = (app: FastifyInstance, operation: Operation, { guard, tracer, now, log }: ServerOptions): void => {
  const { method, parameters, query, body } = operation
  app.route({
    method,
    url: urlOf(operation),
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
    preValidation: async (request) => {
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
        return await send(request, reply, answer, log)
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

/** Without the query, which is the caller's own business. */
const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

const send = async (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  log: Logger,
): Promise<FastifyReply> => {
  if ('stream' in answer) {
    const headers = {
      ...reply.getHeaders(),
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      Connection: 'close',
    }
    reply.hijack()
    reply.raw.writeHead(200, headers as Record<string, string>)
    reply.raw.flushHeaders()
    try {
      await answer.stream(sinkOf(reply.raw, request.gone))
    } catch (error) {
      // The status is sent already; the reader resumes from the last version it has.
      log.warn('a stream broke', { requestId: request.id, error: error instanceof Error ? error.stack : String(error) })
    } finally {
      endStream(reply.raw)
    }
    return reply
  }
  reply.code(answer.status).headers(answer.headers ?? {})
  if ('json' in answer) return reply.type('application/json').send(jsonBytes(answer.json))
  return answer.body === undefined
    ? reply.send()
    : reply.type('application/json').send(jsonBytes(JSON.stringify(answer.body)))
}

/** Bytes, because Fastify adds a charset to text, which JSON has none of (RFC 8259). */
const jsonBytes = (json: string): Buffer => Buffer.from(json)

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const methodsByUrl = (operations: readonly Operation[]): Map<string, Set<string>> => {
  const methods = new Map<string, Set<string>>()
  for (const operation of operations) {
    const url = urlOf(operation)
    methods.set(url, (methods.get(url) ?? new Set()).add(operation.method))
  }
  return methods
}

/** Answers 405 with `Allow` where Fastify by itself would not know the path. */
const refuseOtherMethods = (
  app: FastifyInstance,
  url: string,
  methods: ReadonlySet<string>,
  sendProblem: (request: FastifyRequest, reply: FastifyReply, problem: Problem) => FastifyReply,
): void => {
  const allowed = [...methods].join(', ')
  app.route({
    method: METHODS.filter((method) => !methods.has(method)),
    url,
    handler: (request, reply) =>
      sendProblem(
        request,
        reply.header('Allow', allowed),
        new Problem('methodNotAllowed', `${request.method} is not possible here, write ${allowed}`),
      ),
  })
}

const urlOf = ({ path }: Operation): string => `${BASE_PATH}${path.replace(/\{(\w+)\}/g, ':$1')}`

/** The peer never looks at Content-Type; a body is JSON or it is refused as malformed. */
const acceptAnyContentType = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    return app.getDefaultJsonParser('error', 'error')(request, body as string, done)
  })
}

/** Any error as one of the catalogue: nothing of a database or a stack goes out. */
const asProblem = (error: FastifyError): Problem => {
  if (error instanceof Problem) return error
  const { statusCode = 500 } = error
  if (statusCode === 413) return new Problem('tooLarge', `the body must have at most ${BODY_LIMIT} bytes`)
  if (statusCode >= 400 && statusCode < 500) return new Problem('malformed', error.message)
  if (isUnreachable(error)) return new Problem('unavailable', 'the database is not reachable, try again')
  return new Problem('internal', 'something went wrong here, the log has it under this request’s id')
}

/** PostgreSQL's connection errors (class 08, 53 and 57P) and the socket's. */
const isUnreachable = (error: Error): boolean =>
  /^(08|53|57P|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(sqlState(error) ?? '') ||
  /timeout exceeded when trying to connect|Connection terminated/.test(error.message)
