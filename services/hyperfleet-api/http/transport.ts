import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure, type Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Timestamp } from '../model/timestamp.ts'
import { formatProblem, Problem } from '../problems/problem.ts'
import { PROBLEMS, type ProblemName } from '../problems/problem-types.ts'
import { limitConnections, requestBegins } from './connections.ts'

/** Milliseconds a caller has, so that a slow one doesn't hold a connection. */
export interface RequestTimeouts {
  /** To send the headers. */
  readonly headers: number
  /** To send the whole request. */
  readonly request: number
  /** Until its connection is closed, while neither side sends or takes a byte. Above what an operation takes. */
  readonly idle?: number
}

export const DEFAULT_REQUEST_TIMEOUTS: RequestTimeouts = { headers: 10_000, request: 30_000, idle: 300_000 }
/** Bytes of the request line and all headers. */
const MAX_HEADER_BYTES = 16 * 1024
/** Above that of usual load balancers, so that they end a connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** How much later than its time a slow request is noticed at most. */
const CHECKS_PER_TIMEOUT = 4

/** The bare server, HTTP or HTTPS. */
export const createTransport = (
  handler: RequestListener,
  { headers, request, idle = 0 }: RequestTimeouts,
  tls: SecureContextOptions | undefined,
): Server => {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headers,
    requestTimeout: request,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Node.js would refuse it without a word; a hook of ours does it with a problem.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.ceil(headers / CHECKS_PER_TIMEOUT),
  }
  // Behind an answer that has no end, others would wait with all that they hold. Node.js gives the second of two no connection yet.
  const oneAtATime: RequestListener = (incoming, response) => {
    if (response.socket === null) {
      incoming.socket.destroy()
      return
    }
    requestBegins(incoming.socket, (ended) => response.once('close', ended))
    handler(incoming, response)
  }
  const needsCertificate = tls?.ca !== undefined
  const server =
    tls === undefined
      ? createPlain(options, oneAtATime)
      : createSecure(
          {
            ...options,
            ...tls,
            handshakeTimeout: headers,
            requestCert: needsCertificate,
            rejectUnauthorized: needsCertificate,
          },
          oneAtATime,
        )
  // An expectation that is not known may be ignored (RFC 9110, 10.1.1); Node.js would answer 417 without a word, and CONNECT not at all.
  server.on('checkExpectation', oneAtATime)
  // Node.js would ask for the body before anything has looked at the request.
  server.on('checkContinue', oneAtATime)
  server.on('connect', (_request, socket) => {
    server.emit('clientError', Object.assign(new Error('CONNECT'), { code: NO_PROXY }), socket)
  })
  limitConnections(server as Server)
  // Node.js destroys the connection: a reader that stops in the middle of an answer would keep it in memory for good.
  server.setTimeout(idle)
  // Node types them apart; both have all that Fastify and we use.
  return server as SecureServer & Server
}

/** As the code of an error: the request asks for a way through to another server. */
const NO_PROXY = 'NO_PROXY'

/** What Node's parser says about requests that never become one. */
const PARSER_ERRORS: Readonly<Record<string, readonly [ProblemName, string]>> = {
  [NO_PROXY]: ['malformed', 'this server is no proxy, and takes no CONNECT'],
  HPE_HEADER_OVERFLOW: ['headersTooLarge', `the headers must have at most ${MAX_HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['tooSlow', 'the request did not come in time'],
}

/** Answers a broken request as every other problem, and ends its connection. */
export const rejectInvalidRequest = (error: NodeJS.ErrnoException, socket: Socket, time: Timestamp): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [name, detail] = PARSER_ERRORS[error.code ?? ''] ?? ['malformed', 'this is not an HTTP/1.1 request']
  const { status, title } = PROBLEMS[name]
  const body = JSON.stringify(formatProblem(new Problem(name, detail), { path: '', traceId: '', time }))
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
