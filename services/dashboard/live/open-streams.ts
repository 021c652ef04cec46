/** Pages that are open and get their changes. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Guard } from '../access/guard.ts'
import type { Sessions } from '../access/sessions.ts'
import { waitUntilForbidden } from '../access/viewer.ts'
import { HttpError, notFound } from '../http-error.ts'
import type { AnyPage, PageRequest } from '../page.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import { streamPage } from './stream.ts'

/** Pages that are open at once, over all viewers. */
const MAX_STREAMS = 200

export interface OpenStreamsOptions {
  readonly guard: Guard | undefined
  readonly sessions: Sessions
  readonly clock: Clock
  readonly log: Logger
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal
}

/** @returns keeps a page up to date until its viewer leaves, may not look any more, or the server stops */
export const createOpenStreams = ({ guard, sessions, clock, log, stopping }: OpenStreamsOptions) => {
  let streams = 0
  return async (page: AnyPage, target: PageRequest, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (page.render(target) === undefined) throw notFound(request.originalUrl)
    if (streams >= MAX_STREAMS)
      throw new HttpError(503, 'Too many pages are open', `${MAX_STREAMS} pages are open already: close some`)
    reply.hijack()
    const response = reply.raw
    using open = new AbortScope(stopping)
    const { signal } = open
    response.once('close', () => open.abort())
    // It may have left while its token was reviewed: then no event tells of it any more.
    if (response.closed) open.abort()
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    const { 'muster-live': seen } = request.headers
    if (guard !== undefined)
      detach(
        'looking whether a viewer may still see a page',
        waitUntilForbidden(request, guard, sessions, clock, signal).then(() => open.abort()),
      )
    streams++
    try {
      await streamPage({
        response,
        sources: target.sources,
        clock,
        signal,
        seen: typeof seen === 'string' ? seen : undefined,
        open: (now) => page.render({ ...target, now }),
      })
    } catch (error) {
      log.error('a page could not be kept up to date', { path: request.originalUrl, err: error })
    } finally {
      streams--
      response.end()
    }
  }
}
