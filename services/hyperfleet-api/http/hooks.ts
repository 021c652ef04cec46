import type { FastifyInstance, FastifyReply } from 'fastify'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import { Problem } from '../problems/problem.ts'
import { nameOf } from './access-control.ts'
import { checkDocument, checkText } from './check-document.ts'
import { compressBody } from './compression.ts'
import { MAX_URL_CHARS } from './limits.ts'
import { compressedTag } from './preconditions.ts'
import { REQUEST_FIELDS } from './request.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

/** What this API can do beyond the Go service's, told by every answer. */
const FEATURES = 'labels,watch,events'
const SECOND = 1_000

/** All of them together: of many addresses each would have less than a caller. */
const STRANGERS = 'strangers'

interface HookOptions {
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  readonly metrics: RequestMetrics
  readonly answers: UnsentAnswers
  readonly now: () => Date
}

/** What happens to every request and answer, whatever the operation: life time, checks of texts, compression, metrics. */
export const addHooks = (app: FastifyInstance, { stopping, metrics, answers, now }: HookOptions): void => {
  for (const field of REQUEST_FIELDS) app.decorateRequest(field)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id).header('Muster-Features', FEATURES).header('Vary', 'Authorization')
    // API-122: Node.js would tell this machine's.
    reply.header('Date', now().toUTCString())
    const lifetime = new AbortScope(stopping)
    reply.raw.once('close', () => lifetime.abort())
    request.lifetime = lifetime
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      throw new Problem('malformed', 'a request of HTTP/1.1 needs the header Host')
    if (request.url.length > MAX_URL_CHARS)
      throw new Problem('urlTooLong', `the path and its query must have at most ${MAX_URL_CHARS} characters`)
  })
  // By now the caller is let in, and there is room for its body: API-190.
  app.addHook('preParsing', async ({ headers, raw: { httpVersion } }, reply) => {
    if (httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
  })
  app.addHook('preValidation', async (request) => {
    for (const value of Object.values(request.query as object).flat()) checkText(String(value))
    for (const value of Object.values(request.params as object)) checkText(String(value))
    if (request.body !== undefined) checkDocument(request.body)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    // A connection that is kept would keep the server from closing.
    if (stopping.aborted) reply.header('Connection', 'close')
    withoutCharset(reply)
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) {
      request.giveAnswerRoomBack?.()
      return payload
    }
    const compressed = await compressBody(payload, request.headers['accept-encoding'])
    const sent = compressed ?? payload
    const { caller, giveAnswerRoomBack } = request
    const name = caller === undefined ? STRANGERS : nameOf(caller, request.ip)
    answers.add(reply.raw, Buffer.byteLength(sent), name, giveAnswerRoomBack !== undefined)
    giveAnswerRoomBack?.()
    if (compressed === undefined) return payload
    const tag = reply.getHeader('ETag')
    if (typeof tag === 'string') reply.header('ETag', compressedTag(tag))
    reply.header('Content-Encoding', 'gzip').header('Vary', 'Authorization, Accept-Encoding')
    return compressed
  })
  app.addHook('onResponse', async (request, reply) => {
    const template = request.routeOptions.url?.replace(/:\w+/g, '-') ?? 'unknown'
    metrics.observe(request.method, template, reply.statusCode, reply.elapsedTime / SECOND)
  })
}

/** JSON has no charset (RFC 8259), and Fastify gives one to every text. */
const withoutCharset = (reply: FastifyReply): void => {
  const type = reply.getHeader('Content-Type')
  if (typeof type === 'string' && /^application\/.*json;/.test(type)) reply.header('Content-Type', type.split(';')[0])
}
