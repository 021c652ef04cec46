/** The form of a response: HTML, JSON or a stream of changes. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Markup } from '#lib/markup/markup.ts'

const acceptOf = ({ headers: { accept = '' } }: FastifyRequest): string => accept

/** htmx says of every request that it takes streams too; only pages that want theirs say what they show. */
export const wantsStream = (request: FastifyRequest): boolean =>
  acceptOf(request).includes('text/event-stream') &&
  ('muster-live' in request.headers || !acceptOf(request).includes('text/html'))

export const wantsJson = (request: FastifyRequest): boolean =>
  request.isTwin || (acceptOf(request).includes('application/json') && !acceptOf(request).includes('text/html'))

export const formatJson = (model: unknown): string => `${JSON.stringify(model, undefined, 2)}\n`

export const sendHtml = (reply: FastifyReply, markup: Markup): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(markup.html)
