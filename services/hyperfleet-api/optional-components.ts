import { type Authenticator, createAuthenticator } from './auth/authenticate.ts'
import { ConfigError } from './config/config-error.ts'
import { databaseQueue } from './events/database-queue.ts'
import type { JetStreamQueueOptions } from './events/jetstream/jetstream-queue.ts'
import type { EventQueue } from './events/queue.ts'
import type { Build } from './http/self-description.ts'
import { readCertificate } from './http/tls-certificate.ts'
import { type ApiOptions, ApiOptionsError } from './options.ts'
import type { Database } from './storage/database.ts'
import { recordOrigins } from './storage/record-origins.ts'
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

/** Has the callers of each issuer told apart as they were before (API-157). @throws ApiOptionsError */
export const keepOrigins = async (
  authenticator: Authenticator | undefined,
  database: Database,
  { log }: ApiOptions,
): Promise<void> => {
  if (authenticator === undefined) return
  const replaced = await recordOrigins(database, authenticator.origins).catch((error: unknown) => {
    throw error instanceof ConfigError ? new ApiOptionsError('issuers', error.message, { cause: error }) : error
  })
  for (const { prefix, issuer, former } of replaced)
    log.warn('an issuer is listed in the place of another: its callers are written into created_by as those were', {
      issuer,
      former,
      before: prefix,
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
