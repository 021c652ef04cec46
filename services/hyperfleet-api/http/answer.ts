import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '#operator/model/log.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { type Problem, problemBody } from '../problems/problem.ts'
import type { Answer } from './operation.ts'
import { pathOf } from './request.ts'
import { endStream, sinkOf } from './sink.ts'

/** Sends what an operation answers; resolves for a stream when it has ended. */
export const sendAnswer = async (
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
  if ('json' in answer) return reply.type('application/json').send(answer.json)
  return answer.body === undefined ? reply.send() : reply.type('application/json').send(JSON.stringify(answer.body))
}

/** Sends a problem, and keeps it with the request for the audit log. */
export const sendProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  time: Timestamp,
): FastifyReply => {
  request.problem = problem
  const body = problemBody(problem, { path: pathOf(request), traceId: request.id, time })
  if (problem.status === 401) reply.header('WWW-Authenticate', 'Bearer')
  return reply.code(problem.status).headers(problem.headers).type('application/problem+json').send(JSON.stringify(body))
}
