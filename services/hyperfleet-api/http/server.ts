import type { SecureContextOptions } from 'node:tls'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { addRoute, formatRoute, type RouteOptions } from './add-route.ts'
import { checkDocument, checkText } from './check-document.ts'
import { compressBody } from './compression.ts'
import { MAX_BODY_BYTES, MAX_URL_CHARS } from './limits.ts'
import { type MethodSplit, methodsByPath, READ_ONLY } from './methods-by-path.ts'
import type { OpenApi } from './openapi.ts'
import type { Operation } from './operation.ts'
import { compressedTag } from './preconditions.ts'
import { pathOf, REQUEST_FIELDS } from './request.ts'
import { sendProblem } from './response.ts'
import { addDocuments, type Build, DOCUMENT_PATHS } from './self-description.ts'
import { toProblem } from './to-problem.ts'
import { createTransport, type RequestTimeouts, rejectInvalidRequest } from './transport.ts'
import { validatorCompiler } from './validation.ts'

/** What this API can do beyond the Go service's, told by every answer. */
const FEATURES = 'labels,watch,events'
const SECOND = 1_000

export interface ServerOptions extends RouteOptions {
  readonly operations: readonly Operation[]
  readonly openApi: OpenApi
  readonly build: Build
  readonly newId: () => string
  readonly stopping: AbortSignal
  readonly metrics: RequestMetrics
  readonly requestTimeouts: RequestTimeouts
  readonly tls?: SecureContextOptions | undefined
}

/** The HTTP server of the API, not yet listening. */
export const createServer = (options: ServerOptions): FastifyInstance => {
  const { operations, openApi, build, newId, clock, stopping, metrics, requestTimeouts, tls, log } = options
  const now = () => clock.now()
  const sendProblemNow = (request: FastifyRequest, reply: FastifyReply, problem: Problem) =>
    sendProblem(request, reply, problem, timestampOf(now()))
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: newId,
    requestIdHeader: false,
    // Longer parts of a path are for the operations to refuse, in their own words.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_URL_CHARS },
    // What the router refuses before there is a route: Fastify types the reply for a server that isn't there yet.
    frameworkErrors: (_error, request, reply) =>
      void sendProblemNow(
        request as FastifyRequest,
        reply as unknown as FastifyReply,
        new Problem('malformed', 'the URL can’t be read: a % in it must be followed by two digits of a UTF-8 byte'),
      ),
    serverFactory: (handler) => createTransport(handler, requestTimeouts, tls),
    clientErrorHandler: (error, socket) => rejectInvalidRequest(error, socket, timestampOf(clock.now())),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  })
  app.setValidatorCompiler(validatorCompiler())
  acceptAnyContentType(app)
  for (const field of REQUEST_FIELDS) app.decorateRequest(field)

  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id).header('Muster-Features', FEATURES).header('Vary', 'Authorization')
    const lifetime = new AbortScope(stopping)
    reply.raw.once('close', () => lifetime.abort())
    request.lifetime = lifetime
    if (request.url.length > MAX_URL_CHARS)
      throw new Problem('urlTooLong', `the path and its query must have at most ${MAX_URL_CHARS} characters`)
  })
  app.addHook('preValidation', async (request) => {
    for (const value of Object.values(request.query as object).flat()) checkText(String(value))
    for (const value of Object.values(request.params as object)) checkText(String(value))
    if (request.body !== undefined) checkDocument(request.body)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    // A connection that is kept would keep the server from closing.
    if (stopping.aborted) reply.header('Connection', 'close')
    withoutCharset(reply)
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
    const compressed = await compressBody(payload, request.headers['accept-encoding'])
    if (compressed === undefined) return payload
    const tag = reply.getHeader('ETag')
    if (typeof tag === 'string') reply.header('ETag', compressedTag(tag))
    reply.header('Content-Encoding', 'gzip').header('Vary', 'Authorization, Accept-Encoding')
    return compressed
  })
  app.addHook('onResponse', async (request, reply) => {
    const template = request.routeOptions.url?.replace(/:\w+/g, '-') ?? 'unknown'
    metrics.observe(request.method, template, reply.statusCode, reply.elapsedTime / SECOND)
  })

  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = toProblem(error)
    if (problem.status >= 500)
      log.error('a request failed', {
        method: request.method,
        path: pathOf(request),
        requestId: request.id,
        error: error.stack,
      })
    return sendProblemNow(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblemNow(request, reply, new Problem('unknownPath', `no endpoint at ${pathOf(request)}`)),
  )
  /** Answers 405 with `Allow` where Fastify by itself would not know the path. */
  const addMethodNotAllowed = (url: string, { allowed, rejected }: MethodSplit) =>
    app.route({
      method: [...rejected],
      url,
      handler: (request, reply) => {
        const allow = allowed.join(', ')
        const problem = new Problem('methodNotAllowed', `${request.method} is not possible here, write ${allow}`)
        return sendProblemNow(request, reply.header('Allow', allow), problem)
      },
    })
  for (const operation of operations) addRoute(app, operation, options)
  for (const [path, methods] of methodsByPath(operations)) addMethodNotAllowed(formatRoute({ path }), methods)
  addDocuments(app, openApi, build)
  for (const url of Object.values(DOCUMENT_PATHS)) addMethodNotAllowed(url, READ_ONLY)
  return app
}

/** The Go service never looks at Content-Type; a body is JSON or it is refused as malformed. */
const acceptAnyContentType = (app: FastifyInstance): void => {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    return parse(request, body as string, (error, value) => done(error && explainInvalidJson(body as string), value))
  })
}

/** JSON has no charset (RFC 8259), and Fastify gives one to every text. */
const withoutCharset = (reply: FastifyReply): void => {
  const type = reply.getHeader('Content-Type')
  if (typeof type === 'string' && /^application\/.*json;/.test(type)) reply.header('Content-Type', type.split(';')[0])
}

/** Why a body was not taken: no JSON, or JSON with a key that could reach into the prototype of an object. */
const explainInvalidJson = (body: string): Problem => {
  try {
    JSON.parse(body)
    return new Problem('malformed', 'the body must not have the keys __proto__ or constructor.prototype')
  } catch (error) {
    return new Problem('malformed', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
