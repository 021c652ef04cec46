import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { formatProblem, type Problem } from '../problems/problem.ts'
import type { OperationResponse, StreamedResponse } from './operation.ts'
import { pathOf } from './request.ts'
import { createSink, endStream } from './stream-sink.ts'
import { TOKEN_EXPIRED } from './token-lifetime.ts'

/** Sends what an operation answers; resolves for a stream when it has ended. */
export const sendResponse = async (
  request: FastifyRequest,
  reply: FastifyReply,
  response: OperationResponse,
  options: StreamOptions,
): Promise<FastifyReply> => {
  if ('stream' in response) return sendStream(request, reply, response, options)
  reply.code(response.status).headers(response.headers ?? {})
  if ('json' in response) {
    // When the system has taken the last byte, or of HEAD none. What is not sent to its end stays with the connection until that is gone.
    if (response.onSent !== undefined) reply.raw.once('finish', response.onSent)
    return reply.type('application/json').send(response.json)
  }
  return response.body === undefined ? reply.send() : reply.type('application/json').send(JSON.stringify(response.body))
}

interface StreamOptions {
  /** Tells callers apart. */
  readonly caller: string
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
}

/** Until its first bytes a stream may still fail with a problem. */
const sendStream = async (
  request: FastifyRequest,
  reply: FastifyReply,
  response: StreamedResponse,
  { caller, clock, log }: StreamOptions,
): Promise<FastifyReply> => {
  const isEvents = response.mediaType === 'text/event-stream'
  const begin = () => {
    if (reply.sent) return
    reply.headers({ ...response.headers, 'Content-Type': response.mediaType })
    if (isEvents) reply.headers({ 'Cache-Control': 'no-store', Connection: 'close' })
    reply.hijack()
    reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>)
    reply.raw.flushHeaders()
  }
  if (request.method === 'HEAD') {
    begin()
    reply.raw.end()
    return reply
  }
  // A watcher of what never changes shall see that it was let in.
  if (isEvents) begin()
  const requestId = request.id
  // A list is finished while the server stops, as every other request; streams of changes have no other end.
  const signal = isEvents ? request.lifetime.signal : brokenOffSignal(reply.raw, request.lifetime.signal)
  const onStalled = () => log.warn('a reader takes too little, its stream is cut off', { requestId })
  try {
    await response.stream(createSink(reply.raw, { signal, caller, clock, begin, onStalled }))
    begin()
    endStream(reply.raw)
  } catch (error) {
    if (signal.aborted) {
      begin()
      reply.raw.destroy()
      return reply
    }
    if (!reply.sent) throw error
    log.warn('a stream broke', { requestId, error: error instanceof Error ? error.stack : String(error) })
    // The status is sent already. A watcher resumes from the last version it has; half a document must not look whole.
    if (isEvents) endStream(reply.raw)
    else reply.raw.destroy()
  }
  return reply
}

/** Aborted when the connection is gone, or with the caller's token (API-81). */
const brokenOffSignal = (response: ServerResponse, lifetime: AbortSignal): AbortSignal => {
  const ended = new AbortController()
  const endWithToken = () => {
    if (lifetime.reason === TOKEN_EXPIRED) ended.abort()
  }
  if (response.destroyed) ended.abort()
  endWithToken()
  response.once('close', () => ended.abort())
  lifetime.addEventListener('abort', endWithToken, { once: true })
  return ended.signal
}

/** Sends a problem, and keeps it with the request for the audit log. */
export const sendProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  time: Timestamp,
): FastifyReply => {
  request.problem = problem
  const body = formatProblem(problem, { path: pathOf(request), traceId: request.id, time })
  if (problem.status === 401) reply.header('WWW-Authenticate', 'Bearer')
  return reply.code(problem.status).headers(problem.headers).type('application/problem+json').send(JSON.stringify(body))
}
