/**
 * The dashboard over HTTP. Each page has one address, and three forms of it:
 *
 *   GET /devices?q=eu ──► HTML
 *   GET /devices.json?q=eu, or with Accept: application/json ──► its model as JSON
 *   GET /devices?q=eu with Accept: text/event-stream ──► its sections, each when it changes
 *
 * Everything is read only; whether the viewer may look is decided before anything is looked up.
 */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { html } from '#lib/markup/markup.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Guard } from './access/guard.ts'
import { Sessions } from './access/sessions.ts'
import { authenticateViewer, refuseForeignNames, refuseOtherSites, requireKnownToken } from './access/viewer.ts'
import { ASSETS, type Asset, loadAssets } from './assets.ts'
import { BANNER_PATH, readRecovery, renderBanner } from './banner.ts'
import { formatJson, sendHtml, wantsJson, wantsStream } from './content-negotiation.ts'
import { withFleetSnapshots } from './fleet-snapshot.ts'
import { HttpError, notFound, toHttpError } from './http-error.ts'
import { type Frame, renderDocument } from './layout.ts'
import { createOpenStreams } from './live/open-streams.ts'
import type { PageRequest } from './page.ts'
import { PAGES } from './pages/index.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { sendError } from './send-error.ts'
import type { Sources } from './sources.ts'

export interface AppOptions {
  readonly sources: Sources
  /** Undefined: every client that reaches this address may look, which only this machine does. */
  readonly guard: Guard | undefined
  /** Served by TLS: cookies are sent by nothing else. */
  readonly isSecure: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  /** Folder of the assets; a checkout's when undefined. */
  readonly assets: string | undefined
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Asked for by `.json`. */
    isTwin: boolean
    viewer: string | undefined
  }
}

/** Bytes of a form: a token is a few thousand. */
const MAX_FORM_BYTES = 16_384
const MAX_URL_CHARS = 8_192

export const createApp = async (options: AppOptions): Promise<FastifyInstance> => {
  const { clock, log, version, stopping } = options
  const sources = withFleetSnapshots(options.sources, clock)
  const assets = await loadAssets(options.assets)
  const paths = Object.fromEntries(ASSETS.map((name) => [name, assets[name].path])) as Record<Asset, string>
  const frameOf = ({ viewer }: Pick<FastifyRequest, 'viewer'>): Frame => ({ version, assets: paths, viewer })
  const sessions = new Sessions(clock, options.isSecure)

  const app = Fastify({
    logger: false,
    bodyLimit: MAX_FORM_BYTES,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_URL_CHARS, ignoreTrailingSlash: true },
    // What the router refuses before there is a route: Fastify types the reply for a server that isn't there yet.
    frameworkErrors: (_error, request, reply) => {
      const error = new HttpError(
        400,
        'Not understood',
        'a % in the address must be followed by two digits of a UTF-8 byte',
      )
      const answer = (reply as unknown as FastifyReply).headers(SECURITY_HEADERS).header('cache-control', 'no-store')
      sendError(request as FastifyRequest, answer, error, frameOf({ viewer: undefined }), log)
    },
    rewriteUrl: (request) => {
      const url = request.url ?? '/'
      const [path = '/', ...query] = url.split('?')
      if (!path.endsWith('.json')) return url
      // The original URL stays as it was: `isTwin` is read from it.
      const page = path === '/index.json' ? '/' : path.slice(0, -'.json'.length)
      return [page, ...query].join('?')
    },
  })
  app.decorateRequest('isTwin', false)
  app.decorateRequest('viewer', undefined)
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )

  app.addHook('onRequest', async (request, reply) => {
    request.isTwin = (request.originalUrl.split('?')[0] ?? '').endsWith('.json')
    reply.headers(SECURITY_HEADERS).header('cache-control', 'no-store').header('vary', 'Accept, Cookie, Authorization')
    if (isOpenToAll(request)) return
    if (options.guard === undefined) refuseForeignNames(request)
    else request.viewer = await authenticateViewer(request, options.guard, sessions)
  })

  app.setErrorHandler((error: FastifyError | HttpError, request, reply) =>
    sendError(request, reply, toHttpError(error), frameOf(request), log),
  )
  app.setNotFoundHandler((request, reply) =>
    sendError(request, reply, notFound(request.originalUrl), frameOf(request), log),
  )

  for (const { path, type, body } of Object.values(assets))
    app.get(path, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(body),
    )

  const openStream = createOpenStreams({ guard: options.guard, sessions, clock, log, stopping })
  for (const page of PAGES)
    app.get(page.path, async (request, reply) => {
      const target = requestOf(request, sources, clock)
      if (wantsStream(request)) return openStream(page, target, request, reply)
      const opened = page.render(target)
      if (opened === undefined) throw notFound(request.originalUrl)
      if (wantsJson(request)) return reply.type('application/json; charset=utf-8').send(formatJson(opened.model))
      return sendHtml(reply, renderDocument(frameOf(request), target, request.url, opened, page.menu))
    })

  app.get(BANNER_PATH, async (request, reply) => {
    const recovery = readRecovery(sources.fleet())
    if (wantsJson(request)) return reply.type('application/json; charset=utf-8').send(formatJson(recovery ?? null))
    return sendHtml(reply, renderBanner(recovery, clock.now()) ?? html``)
  })

  app.post('/sign-in', async (request, reply) => {
    refuseOtherSites(request)
    const token = request.body instanceof URLSearchParams ? (request.body.get('token') ?? '').trim() : ''
    if (options.guard !== undefined) await requireKnownToken(options.guard, token)
    return reply.header('set-cookie', sessions.begin(token)).redirect('/', 303)
  })
  app.post('/sign-out', async (request, reply) => {
    refuseOtherSites(request)
    return reply.header('set-cookie', sessions.end(request.headers.cookie)).redirect('/', 303)
  })
  return app
}

/** What holds no data: without it there would be no way to sign in. */
const isOpenToAll = ({ url }: FastifyRequest): boolean =>
  url.startsWith('/assets/') || url === '/sign-in' || url === '/sign-out'

const requestOf = (request: FastifyRequest, sources: Sources, clock: Clock): PageRequest => ({
  params: request.params as Record<string, string>,
  query: new URLSearchParams(request.url.split('?')[1] ?? ''),
  sources,
  now: clock.now(),
})
