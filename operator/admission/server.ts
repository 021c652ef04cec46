import type { IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { limitIdleConnections } from '#lib/socket-queue.ts'
import { type Binding, listen } from '../binding.ts'
import type { Definition } from '../engine/definition.ts'
import { OPERATOR_ERRORS } from '../model/error-catalogue.ts'
import type { Logger } from '../model/log.ts'
import type { KeyPair } from './certificates.ts'
import { mutate, parseReview, ReviewError, reviewOf, validate } from './review.ts'

/** An AdmissionReview holds an object and its old state, each of at most 1.5 MiB in etcd. */
const MAX_BODY_BYTES = 3 * 1024 * 1024

/** Serves `/validate/<controller>` and `/mutate/<controller>` over HTTPS. */
export interface WebhookServer {
  /** Starts with the first certificate; later ones are for new connections. */
  serve(leaf: KeyPair): void
  /** The port it listens on. @throws BindingError */
  readonly listening: Promise<number>
  /** Takes no new connection and answers the reviews in flight; what is not answered after so many milliseconds is cut. RUNTIME-51. */
  stop(graceMs: number): Promise<void>
}

export const createWebhookServer = (
  definitions: readonly Definition[],
  binding: Binding,
  log: Logger,
): WebhookServer => {
  const listening = Promise.withResolvers<number>()
  listening.promise.catch(() => {})
  let server: Server | undefined
  let isStopping = false

  const respond = async (request: IncomingMessage): Promise<{ code: number; body: unknown }> => {
    const { pathname = '' } = URL.parse(request.url ?? '', 'https://localhost') ?? {}
    const [, verb, name] = pathname.split('/')
    const definition = definitions.find((known) => known.name === name)
    if (definition === undefined || (verb !== 'validate' && verb !== 'mutate')) {
      return { code: 404, body: { message: `there is no ${pathname}: see on.validate and on.mutate` } }
    }
    const review = parseReview(await bodyOf(request))
    const own = log.child({ controller: definition.name, webhook: verb })
    const response =
      verb === 'validate'
        ? await validate(definition.validators, review, own)
        : await mutate(definition.mutators, review, own)
    return { code: 200, body: reviewOf(response) }
  }

  return {
    listening: listening.promise,
    serve({ certificate, key }) {
      if (server !== undefined) {
        server.setSecureContext({ cert: certificate, key })
        return
      }
      server = createServer({ cert: certificate, key, minVersion: 'TLSv1.2' }, (request, response) => {
        respond(request)
          .catch((error: unknown) => {
            log.warn(`a webhook call could not be answered: ${messageOf(error)}`, { err: error })
            return { code: codeOf(error), body: { message: messageOf(error) } }
          })
          .then(({ code, body }) => {
            // A body that is too large is not read to its end, so nothing else can come over this connection.
            const connection = request.complete && !isStopping ? {} : { connection: 'close' }
            response.writeHead(code, { 'content-type': 'application/json', ...connection }).end(JSON.stringify(body))
          })
          .catch((error: unknown) => log.error('a webhook answer could not be sent', { err: error }))
      })
      limitIdleConnections(server)
      listen(server, binding, '--webhook-bind-address').then(listening.resolve, listening.reject)
    },
    async stop(graceMs) {
      isStopping = true
      if (server === undefined) return
      const stopped = server
      const closed = new Promise<void>((resolve) => stopped.close(() => resolve()))
      // The machine's time, not a clock's: a process must go.
      const cut = setTimeout(() => stopped.closeAllConnections(), graceMs)
      await closed
      clearTimeout(cut)
    },
  }
}

class BodyTooLargeError extends errorOf(OPERATOR_ERRORS, 'BodyTooLargeError') {
  constructor() {
    super(`the body is larger than ${MAX_BODY_BYTES} bytes`)
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  if (Number(request.headers['content-length']) > MAX_BODY_BYTES) throw new BodyTooLargeError()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new BodyTooLargeError()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const codeOf = (error: unknown): number =>
  error instanceof BodyTooLargeError ? 413 : error instanceof ReviewError ? 400 : 500
