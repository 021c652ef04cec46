import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '#operator/model/log.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { formatProblem, type Problem } from '../problems/problem.ts'
import type { OperationResponse } from './operation.ts'
import { pathOf } from './request.ts'
import { createSink, endStream } from './stream-sink.ts'

/** Sends what an operation answers; resolves for a stream when it has ended. */
export const sendResponse = async (
  request: FastifyRequest,
  reply: FastifyReply,
  response: OperationResponse,
  log: Logger,
): Promise<FastifyReply> => {
  if ('stream' in response) {
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
      await response.stream(createSink(reply.raw, request.lifetime.signal))
    } catch (error) {
      // The status is sent already; the reader resumes from the last version it has.
      log.warn('a stream broke', { requestId: request.id, error: error instanceof Error ? error.stack : String(error) })
    } finally {
      endStream(reply.raw)
    }
    return reply
  }
  reply.code(response.status).headers(response.headers ?? {})
  if ('json' in response) return reply.type('application/json').send(response.json)
  return response.body === undefined ? reply.send() : reply.type('application/json').send(JSON.stringify(response.body))
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
