/**
 * The dashboard over HTTP. Each page has one address, and three forms of it:
 *
 *   GET /devices?q=eu ──► HTML
 *   GET /devices.json?q=eu, or with Accept: application/json ──► its model as JSON
 *   GET /devices?q=eu with Accept: text/event-stream ──► its sections, each when it changes
 *
 * Everything is read only; who may look is decided before anything is looked up.
 */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { html, type Markup } from '#lib/markup/markup.ts'
import { isLoopbackHost } from '#operator/binding.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Guard } from './access/guard.ts'
import { Sessions } from './access/sessions.ts'
import { renderForbidden, renderSignIn } from './access/signin.ts'
import { ASSETS, type Asset, loadAssets } from './assets.ts'
import { BANNER_PATH, readRecovery, renderBanner } from './banner.ts'
import { withFleetSnapshots } from './fleet-snapshot.ts'
import { type Frame, renderDocument, renderNotice } from './layout.ts'
import { streamPage } from './live/stream.ts'
import type { AnyPage, PageRequest } from './page.ts'
import { PAGES } from './pages/index.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import type { Sources } from './sources.ts'

export interface AppOptions {
  readonly sources: Sources
  /** Undefined: whoever reaches this address may look, which only this machine does. */
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

/** Why a request is answered otherwise than asked. */
class Refusal extends Error {
  readonly status: number
  readonly title: string
  readonly body: Markup | undefined

  constructor(status: number, title: string, message: string, body?: Markup) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.title = title
    this.body = body
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Asked for by `.json`. */
    isTwin: boolean
    viewer: string | undefined
  }
}

/** Pages that are open at once, over all viewers. */
const MAX_STREAMS = 200
/** Bytes of a form: a token is a few thousand. */
const MAX_FORM_BYTES = 16_384
const MAX_URL_CHARS = 8_192
/** How often it is asked whether who has a page open may still look: as long as the API server's answer holds. */
const RIGHT_RECHECK_INTERVAL = '1m'

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
      const refusal = new Refusal(
        400,
        'Not understood',
        'a % in the address must be followed by two digits of a UTF-8 byte',
      )
      const answer = (reply as unknown as FastifyReply).headers(SECURITY_HEADERS).header('cache-control', 'no-store')
      return void sendRefusal(request as FastifyRequest, answer, refusal, frameOf({ viewer: undefined }), log)
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
    else request.viewer = await viewerOf(request, options.guard, sessions)
  })

  app.setErrorHandler((error: FastifyError | Refusal, request, reply) =>
    sendRefusal(request, reply, asRefusal(error), frameOf(request), log),
  )
  app.setNotFoundHandler((request, reply) =>
    sendRefusal(request, reply, notFound(request.originalUrl), frameOf(request), log),
  )

  for (const { path, type, body } of Object.values(assets))
    app.get(path, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(body),
    )

  let streams = 0
  const startStream = async (page: AnyPage, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const target = requestOf(request, sources, clock)
    if (page.render(target) === undefined) throw notFound(request.originalUrl)
    if (streams >= MAX_STREAMS)
      throw new Refusal(503, 'Too many pages are open', `${MAX_STREAMS} pages are open already: close some`)
    reply.hijack()
    const response = reply.raw
    const left = new AbortController()
    response.once('close', () => left.abort())
    // It may have left while it was asked who it is: then nobody says so any more.
    if (response.closed) left.abort()
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    const { 'muster-live': seen } = request.headers
    const signal = AbortSignal.any([left.signal, stopping])
    if (options.guard !== undefined)
      void whileWelcome(request, options.guard, sessions, clock, signal).then(() => left.abort())
    streams++
    try {
      await streamPage({
        response,
        sources,
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

  for (const page of PAGES)
    app.get(page.path, async (request, reply) => {
      if (wantsStream(request)) return startStream(page, request, reply)
      const target = requestOf(request, sources, clock)
      const opened = page.render(target)
      if (opened === undefined) throw notFound(request.originalUrl)
      if (wantsJson(request)) return reply.type('application/json; charset=utf-8').send(jsonOf(opened.model))
      return sendHtml(reply, renderDocument(frameOf(request), target, request.url, opened, page.menu))
    })

  app.get(BANNER_PATH, async (request, reply) => {
    const recovery = readRecovery(sources.fleet())
    if (wantsJson(request)) return reply.type('application/json; charset=utf-8').send(jsonOf(recovery ?? null))
    return sendHtml(reply, renderBanner(recovery, clock.now()) ?? html``)
  })

  app.post('/sign-in', async (request, reply) => {
    refuseOtherSites(request)
    const token = request.body instanceof URLSearchParams ? (request.body.get('token') ?? '').trim() : ''
    if (options.guard !== undefined) await mustBeKnown(options.guard, token)
    return reply.header('set-cookie', sessions.begin(token)).redirect('/', 303)
  })
  app.post('/sign-out', async (request, reply) => {
    refuseOtherSites(request)
    return reply.header('set-cookie', sessions.end(request.headers.cookie)).redirect('/', 303)
  })
  return app
}

/** What holds no data: without it nobody could sign in. */
const isOpenToAll = ({ url }: FastifyRequest): boolean =>
  url.startsWith('/assets/') || url === '/sign-in' || url === '/sign-out'

/**
 * A page of another site can have its own name point to this machine, and would then read what is served here. It can't choose the
 * header Host, which then has its name.
 */
const refuseForeignNames = ({ headers: { host = '' } }: FastifyRequest): void => {
  if (isLoopbackHost(host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))) return
  throw new Refusal(
    421,
    'Not here',
    `this dashboard serves only this machine, so it is not called ${JSON.stringify(host)}: open it as localhost or 127.0.0.1`,
  )
}

/** Forms are sent by our own pages. */
const refuseOtherSites = ({ headers }: FastifyRequest): void => {
  const { origin, host } = headers
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return
  throw new Refusal(403, 'Not from here', 'a form of another site was sent to the dashboard')
}

const viewerOf = async (request: FastifyRequest, guard: Guard, sessions: Sessions): Promise<string> => {
  const [, bearer] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const token = bearer ?? sessions.tokenOf(request.headers.cookie)
  if (token === undefined)
    throw new Refusal(401, 'Sign in', 'a token is needed: Authorization: Bearer <token>', renderSignIn(undefined))
  const verdict = await mustBeKnown(guard, token)
  if (verdict.kind === 'allowed') return verdict.user
  throw new Refusal(
    403,
    'Not allowed',
    `${verdict.user} may not get the path /dashboard`,
    renderForbidden(verdict.user),
  )
}

/** Until the viewer may not look any more, or the signal aborts. While nobody can say, the page stays open. */
const whileWelcome = async (
  request: FastifyRequest,
  guard: Guard,
  sessions: Sessions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> => {
  for (;;) {
    await clock.sleep(RIGHT_RECHECK_INTERVAL, signal)
    if (signal.aborted) return
    try {
      await viewerOf(request, guard, sessions)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status < 500) return
    }
  }
}

const mustBeKnown = async (guard: Guard, token: string) => {
  const verdict = await guard.authorize(token)
  if (verdict.kind === 'unauthenticated') {
    const problem = 'the API server does not know this token: it is wrong, or has expired'
    throw new Refusal(401, 'Sign in', problem, renderSignIn(problem))
  }
  if (verdict.kind === 'unavailable') throw new Refusal(503, 'Nobody can be let in', verdict.reason)
  return verdict
}

const requestOf = (request: FastifyRequest, sources: Sources, clock: Clock): PageRequest => ({
  params: request.params as Record<string, string>,
  query: new URLSearchParams(request.url.split('?')[1] ?? ''),
  sources,
  now: clock.now(),
})

const acceptOf = ({ headers: { accept = '' } }: FastifyRequest): string => accept

/** htmx says of every request that it takes streams too; only pages that want theirs say what they show. */
const wantsStream = (request: FastifyRequest): boolean =>
  acceptOf(request).includes('text/event-stream') &&
  ('muster-live' in request.headers || !acceptOf(request).includes('text/html'))

const wantsJson = (request: FastifyRequest): boolean =>
  request.isTwin || (acceptOf(request).includes('application/json') && !acceptOf(request).includes('text/html'))

const jsonOf = (model: unknown): string => `${JSON.stringify(model, undefined, 2)}\n`

const sendHtml = (reply: FastifyReply, markup: Markup): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(markup.html)

const notFound = (url: string): Refusal =>
  new Refusal(404, 'Not found', `there is nothing at ${url.split('?')[0]}: it may have been deleted`)

const asRefusal = (error: FastifyError | Refusal): Refusal => {
  if (error instanceof Refusal) return error
  const { statusCode = 500 } = error
  if (statusCode < 500) return new Refusal(statusCode, 'Not understood', error.message)
  const refusal = new Refusal(
    500,
    'Something went wrong',
    'the page could not be made: the log of the manager says why',
  )
  refusal.cause = error
  return refusal
}

const sendRefusal = (
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal,
  frame: Frame,
  log: Logger,
): FastifyReply => {
  const { status, title, message, body } = refusal
  if (status >= 500)
    log.error('a page could not be shown', { path: request.originalUrl, problem: message, err: refusal.cause })
  reply.code(status)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (wantsJson(request) || wantsStream(request))
    return reply.type('application/json; charset=utf-8').send(jsonOf({ status, title, message }))
  return sendHtml(
    reply,
    renderNotice(frame, title, body ?? html`<p>${message}.</p><p><a href="/">What needs attention</a></p>`),
  )
}
