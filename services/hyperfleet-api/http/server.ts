import type { SecureContextOptions } from 'node:tls'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { RequestMetrics } from '../metrics/metrics.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { type Methods, methodsByPath, READ_ONLY } from './allowed-methods.ts'
import { sendProblem } from './answer.ts'
import { compressed } from './compression.ts'
import { checkDocument, checkText } from './document-check.ts'
import { addDocuments, type Build, DOCUMENT_PATHS } from './documents.ts'
import { asProblem } from './failure.ts'
import { BODY_LIMIT, URL_LIMIT } from './limits.ts'
import type { OpenApi } from './openapi.ts'
import type { Operation } from './operation.ts'
import { pathOf, REQUEST_FIELDS } from './request.ts'
import { addRoute, type RouteOptions, routeOf } from './route.ts'
import { createTransport, type Patience, refuseBroken } from './transport.ts'
import { validatorCompiler } from './validation.ts'

/** What this API can do beyond the peer's, told by every answer. */
const FEATURES = 'labels,watch,events'
const SECOND = 1_000

export interface ServerOptions extends RouteOptions {
  readonly operations: readonly Operation[]
  readonly openApi: OpenApi
  readonly build: Build
  readonly newId: () => string
  readonly stopping: AbortSignal
  readonly metrics: RequestMetrics
  readonly patience: Patience
  readonly tls?: SecureContextOptions | undefined
}

/** The HTTP server of the API, not yet listening. */
export const createServer = (options: ServerOptions): FastifyInstance => {
  const { operations, openApi, build, newId, now, stopping, metrics, patience, tls, log } = options
  const refuse = (request: FastifyRequest, reply: FastifyReply, problem: Problem) =>
    sendProblem(request, reply, problem, timestampOf(now()))
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    genReqId: newId,
    requestIdHeader: false,
    // Longer parts of a path are for the operations to refuse, in their own words.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: URL_LIMIT },
    // What the router refuses before there is a route: Fastify types the reply for a server that isn't there yet.
    frameworkErrors: (_error, request, reply) =>
      void refuse(
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
  for (const field of REQUEST_FIELDS) app.decorateRequest(field)

  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id).header('Muster-Features', FEATURES).header('Vary', 'Authorization')
    const left = new AbortController()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) left.abort()
    })
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
    withoutCharset(reply)
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
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
    return refuse(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, new Problem('unknownPath', `no endpoint at ${pathOf(request)}`)),
  )
  /** Answers 405 with `Allow` where Fastify by itself would not know the path. */
  const refuseMethods = (url: string, { allowed, refused }: Methods) =>
    app.route({
      method: [...refused],
      url,
      handler: (request, reply) => {
        const allow = allowed.join(', ')
        const problem = new Problem('methodNotAllowed', `${request.method} is not possible here, write ${allow}`)
        return refuse(request, reply.header('Allow', allow), problem)
      },
    })
  for (const operation of operations) addRoute(app, operation, options)
  for (const [path, methods] of methodsByPath(operations)) refuseMethods(routeOf({ path }), methods)
  addDocuments(app, openApi, build)
  for (const url of Object.values(DOCUMENT_PATHS)) refuseMethods(url, READ_ONLY)
  return app
}

/** The peer never looks at Content-Type; a body is JSON or it is refused as malformed. */
const acceptAnyContentType = (app: FastifyInstance): void => {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    return parse(request, body as string, (error, value) => done(error && notJson(body as string), value))
  })
}

/** JSON has no charset (RFC 8259), and Fastify gives one to every text. */
const withoutCharset = (reply: FastifyReply): void => {
  const type = reply.getHeader('Content-Type')
  if (typeof type === 'string' && /^application\/.*json;/.test(type)) reply.header('Content-Type', type.split(';')[0])
}

/** Why a body was not taken: no JSON, or JSON with a key that could reach into the prototype of an object. */
const notJson = (body: string): Problem => {
  try {
    JSON.parse(body)
    return new Problem('malformed', 'the body must not have the keys __proto__ or constructor.prototype')
  } catch (error) {
    return new Problem('malformed', `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
