import { randomUUID } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import { timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { addRoute, formatRoute, type RouteOptions } from './add-route.ts'
import { addHooks } from './hooks.ts'
import { acceptAnyContentType } from './json-body.ts'
import { MAX_BODY_BYTES, MAX_URL_CHARS } from './limits.ts'
import { type MethodSplit, methodsByPath, READ_ONLY } from './methods-by-path.ts'
import type { OpenApi } from './openapi.ts'
import type { Operation } from './operation.ts'
import { pathOf } from './request.ts'
import { sendProblem } from './response.ts'
import { addDocuments, type Build, DOCUMENT_PATHS } from './self-description.ts'
import { toProblem } from './to-problem.ts'
import { createTransport, type RequestTimeouts, rejectInvalidRequest } from './transport.ts'
import { validatorCompiler } from './validation.ts'

export interface ServerOptions extends RouteOptions {
  readonly operations: readonly Operation[]
  readonly openApi: OpenApi
  readonly build: Build
  readonly stopping: AbortSignal
  readonly metrics: RequestMetrics
  readonly requestTimeouts: RequestTimeouts
  readonly tls?: SecureContextOptions | undefined
}

/** Answers a request with a problem document. */
type RefuseRequest = (request: FastifyRequest, reply: FastifyReply, problem: Problem) => FastifyReply

/** The HTTP server of the API, not yet listening. */
export const createServer = (options: ServerOptions): FastifyInstance => {
  const { operations, openApi, build, now, stopping, metrics, answers } = options
  const refuse: RefuseRequest = (request, reply, problem) => sendProblem(request, reply, problem, timestampOf(now()))
  const app = createApp(options, refuse)
  app.setValidatorCompiler(validatorCompiler())
  acceptAnyContentType(app)
  addHooks(app, { stopping, metrics, answers, now })
  handleErrors(app, options, refuse)
  for (const operation of operations) addRoute(app, operation, options)
  for (const [path, methods] of methodsByPath(operations))
    addMethodNotAllowed(app, formatRoute({ path }), methods, refuse)
  addDocuments(app, openApi, build)
  for (const url of Object.values(DOCUMENT_PATHS)) addMethodNotAllowed(app, url, READ_ONLY, refuse)
  return app
}

const createApp = ({ now, requestTimeouts, tls }: ServerOptions, refuse: RefuseRequest): FastifyInstance =>
  Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    // Told by every answer: ids in an order would say how many requests of others came between (API-182).
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    // Longer parts of a path are for the operations to refuse, in their own words.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_URL_CHARS },
    // What the router refuses before there is a route: Fastify types the reply for a server that isn't there yet.
    frameworkErrors: (_error, request, reply) => {
      refuse(
        request as FastifyRequest,
        reply as unknown as FastifyReply,
        new Problem('malformed', 'the URL can’t be read: a % in it must be followed by two digits of a UTF-8 byte'),
      )
    },
    serverFactory: (handler) => createTransport(handler, requestTimeouts, tls),
    clientErrorHandler: (error, socket) => rejectInvalidRequest(error, socket, timestampOf(now())),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  })

/** Every error is answered with a problem; those of the API itself are logged too. */
const handleErrors = (app: FastifyInstance, { log }: ServerOptions, refuse: RefuseRequest): void => {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = toProblem(error)
    if (problem.status >= 500)
      log.error('a request failed, the caller gets a problem document', {
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
}

/** Answers 405 with `Allow` where Fastify by itself would not know the path. */
const addMethodNotAllowed = (
  app: FastifyInstance,
  url: string,
  { allowed, rejected }: MethodSplit,
  refuse: RefuseRequest,
): void => {
  app.route({
    method: [...rejected],
    url,
    handler: (request, reply) => {
      const allow = allowed.join(', ')
      const problem = new Problem('methodNotAllowed', `${request.method} is not possible here, write ${allow}`)
      return refuse(request, reply.header('Allow', allow), problem)
    },
  })
}
