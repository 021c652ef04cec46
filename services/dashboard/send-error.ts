import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#lib/markup/markup.ts'
import type { Logger } from '#operator/model/log.ts'
import { formatJson, sendHtml, wantsJson, wantsStream } from './content-negotiation.ts'
import type { HttpError } from './http-error.ts'
import { type Frame, renderNotice } from './layout.ts'

/** Answers with an error, as a page or as JSON. */
export const sendError = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: HttpError,
  frame: Frame,
  log: Logger,
): FastifyReply => {
  const { status, title, message, body } = error
  if (status >= 500)
    log.error('a page could not be shown', { path: request.originalUrl, problem: message, err: error.cause })
  reply.code(status)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (wantsJson(request) || wantsStream(request))
    return reply.type('application/json; charset=utf-8').send(formatJson({ status, title, message }))
  return sendHtml(
    reply,
    renderNotice(frame, title, body ?? html`<p>${message}.</p><p><a href="/">What needs attention</a></p>`),
  )
}
