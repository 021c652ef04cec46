import { type Authenticator, createAuthenticator } from './auth/authenticate.ts'
import { databaseQueue } from './events/database-queue.ts'
import type { JetStreamQueueOptions } from './events/jetstream/jetstream-queue.ts'
import type { EventQueue } from './events/queue.ts'
import type { Build } from './http/self-description.ts'
import { readCertificate } from './http/tls-certificate.ts'
import { type ApiOptions, ApiOptionsError } from './options.ts'
import { noTracer, type Tracer } from './tracing/tracer.ts'

/** What is only there when an option asks for it. The code of large ones is imported only then. */

/** Authentication of callers; undefined when they are not authenticated. @throws ApiOptionsError */
export const openAuthenticator = async (
  { issuers = [], log }: ApiOptions,
  now: () => Date,
): Promise<Authenticator | undefined> => {
  if (issuers.length === 0) return undefined
  return createAuthenticator(issuers, now, log).catch((error: Error) => {
    throw new ApiOptionsError('issuers', error.message, { cause: error })
  })
}

/** What takes spans. */
export const openTracer = async ({ otlpEndpoint, log }: ApiOptions, { version }: Build): Promise<Tracer> => {
  if (otlpEndpoint === undefined) return noTracer
  const { createTracer } = await import('./tracing/otlp.ts')
  return createTracer(otlpEndpoint, version, log)
}

/** The certificate to serve HTTPS with; undefined for HTTP. @throws ApiOptionsError */
export const openCertificate = async ({ tls }: ApiOptions) =>
  tls &&
  (await readCertificate(tls).catch((error: Error) => {
    throw new ApiOptionsError('tls', error.message, { cause: error })
  }))

/** What delivers events: the database, or JetStream. */
export const openQueue = async (
  nats: JetStreamQueueOptions['nats'] | undefined,
  parts: Omit<JetStreamQueueOptions, 'nats'>,
): Promise<EventQueue> => {
  if (nats === undefined) return databaseQueue(parts)
  const { jetStreamQueue } = await import('./events/jetstream/jetstream-queue.ts')
  return jetStreamQueue({ ...parts, nats })
}
