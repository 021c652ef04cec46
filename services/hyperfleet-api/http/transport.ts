import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure, type Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Timestamp } from '../model/timestamp.ts'
import { PROBLEMS, type ProblemName } from '../problems/catalogue.ts'
import { Problem, problemBody } from '../problems/problem.ts'

/** Milliseconds a caller has, so that one who dawdles doesn't hold a connection. */
export interface Patience {
  /** To send the headers. */
  readonly headers: number
  /** To send the whole request. */
  readonly request: number
}

export const PATIENCE: Patience = { headers: 10_000, request: 30_000 }
/** Bytes of the request line and all headers. */
const HEADER_LIMIT = 16 * 1024
/** Above that of usual load balancers, so that it is they who end a connection. */
const KEEP_ALIVE = 65_000
/** How much later than its time a slow request is noticed at most. */
const CHECKS = 4

/** The bare server, HTTP or HTTPS. */
export const createTransport = (
  handler: RequestListener,
  { headers, request }: Patience,
  tls: SecureContextOptions | undefined,
): Server => {
  const options = {
    maxHeaderSize: HEADER_LIMIT,
    headersTimeout: headers,
    requestTimeout: request,
    keepAliveTimeout: KEEP_ALIVE,
    connectionsCheckingInterval: Math.ceil(headers / CHECKS),
  }
  if (tls === undefined) return createPlain(options, handler)
  const needsCertificate = tls.ca !== undefined
  const server = createSecure(
    { ...options, ...tls, requestCert: needsCertificate, rejectUnauthorized: needsCertificate },
    handler,
  )
  // Node types them apart; both have all that Fastify and we use.
  return server as SecureServer & Server
}

/** What Node's parser says about requests that never become one. */
const BROKEN: Readonly<Record<string, readonly [ProblemName, string]>> = {
  HPE_HEADER_OVERFLOW: ['headersTooLarge', `the headers must have at most ${HEADER_LIMIT} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['tooSlow', 'the request did not come in time'],
}

/** Answers a broken request as every other problem, and ends its connection. */
export const refuseBroken = (error: NodeJS.ErrnoException, socket: Socket, time: Timestamp): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [name, detail] = BROKEN[error.code ?? ''] ?? ['malformed', 'this is not an HTTP/1.1 request']
  const { status, title } = PROBLEMS[name]
  const body = JSON.stringify(problemBody(new Problem(name, detail), { path: '', traceId: '', time }))
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
