import { errorOf } from '#lib/errors/error-of.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { InFlightSettings } from './auth/in-flight-limit.ts'
import type { IssuerSettings } from './auth/issuer.ts'
import type { TenantRules } from './auth/tenancy.ts'
import type { RateLimitSettings } from './auth/token-bucket.ts'
import { API_ERRORS } from './errors.ts'
import type { ListenAddress } from './http/listen.ts'
import type { Build } from './http/self-description.ts'
import type { TlsFiles } from './http/tls-certificate.ts'
import type { RequestTimeouts } from './http/transport.ts'
import type { EntityConfig } from './model/entity-config.ts'

/** How the API is run. */
export interface ApiOptions {
  /** Where the API listens; port 0 takes a free one. */
  readonly listen: ListenAddress
  /** Where `/healthz` and `/readyz` are; nowhere when absent. */
  readonly health?: ListenAddress | undefined
  /** Where `/metrics` is; nowhere when absent. */
  readonly metrics?: ListenAddress | undefined
  /** Folder of the embedded database; it lives in memory without one. Not used with `databaseUrl`. */
  readonly dataDir?: string | undefined
  /** `postgres://…` */
  readonly databaseUrl?: string | undefined
  /** `nats://…`: events are published to JetStream there, and consumer groups are its durable consumers. */
  readonly natsUrl?: string | undefined
  /** A file with the seed of a NATS user's key, or a `.creds` file; read again for each connection. */
  readonly natsCredentials?: string | undefined
  /** A file with the certificates of the authorities that NATS' own is of, PEM; read again for each connection. */
  readonly natsCa?: string | undefined
  /** How long a resource may wait for its adapters before it counts as stuck, in milliseconds; 10 minutes when absent. */
  readonly stuckAfter?: number | undefined
  /** How long removed resources stay in the archive, in milliseconds; 30 days when absent, for ever when 0. */
  readonly archiveRetention?: number | undefined
  /** The kinds that are served; clusters and nodepools when absent. */
  readonly entities?: readonly EntityConfig[] | undefined
  /** OpenAPI or JSON Schema file with the schemas that specs must fit. */
  readonly openapiSchemaPath?: string | undefined
  /** The issuers whose tokens are taken; callers are not authenticated when absent or empty. */
  readonly issuers?: readonly IssuerSettings[] | undefined
  /** The tenant of a caller, as a gateway says; without it every caller sees everything. */
  readonly tenants?: TenantRules | undefined
  /** HTTPS with these files; HTTP when absent. */
  readonly tls?: TlsFiles | undefined
  /** Where the API is over HTTP too, beside HTTPS; nowhere when absent. */
  readonly plain?: ListenAddress | undefined
  /** How fast each known caller may go; without bounds when absent. */
  readonly rateLimit?: RateLimitSettings | undefined
  /** Requests under way of known callers; any number when absent. */
  readonly inFlight?: InFlightSettings | undefined
  /** Open streams of each caller, known by token or by address; any number when absent. */
  readonly maxStreams?: number | undefined
  /** Bytes that all long answers together hold at a time, and changes that come as much; 16 MiB when absent. */
  readonly streamBytes?: number | undefined
  /** Bytes of answers that are sent as a whole and not taken yet, of all callers; 32 MiB when absent, or a 16th of V8's heap. */
  readonly answerBytes?: number | undefined
  /** How long callers may take to send a request. */
  readonly requestTimeouts?: RequestTimeouts | undefined
  /** Milliseconds between being told to stop, when readiness ends, and taking no more requests; 0 when absent. */
  readonly shutdownDelay?: number | undefined
  /** OpenTelemetry collector to which spans are sent by OTLP over HTTP; nothing is traced when absent. */
  readonly otlpEndpoint?: string | undefined
  /** Serve strangers too: without authentication only this machine is served, unless this says otherwise. */
  readonly allowUnauthenticated?: boolean | undefined
  readonly build?: Build | undefined
  readonly log: Logger
  readonly clock: Clock
}

export const buildOf = ({ build = { version: '0.0.0', time: 'unknown' } }: ApiOptions): Build => build

/** The NATS server; undefined without one. */
export const natsOf = ({ natsUrl, natsCredentials, natsCa }: ApiOptions) =>
  natsUrl === undefined ? undefined : { url: natsUrl, credentials: natsCredentials, ca: natsCa }

/** Options that can't be served; the message says what to write instead. */
export class ApiOptionsError extends errorOf(API_ERRORS, 'ApiOptionsError') {
  readonly option: 'listen' | 'issuers' | 'tenants' | 'tls'

  constructor(option: ApiOptionsError['option'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.option = option
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** A tenant that any caller may name is none (API-174). @throws ApiOptionsError */
export const refuseTenantsWithoutGateways = ({ issuers = [], tenants }: ApiOptions): void => {
  if (issuers.length === 0 || tenants === undefined || tenants.gateways !== undefined) return
  throw new ApiOptionsError(
    'tenants',
    'server.tenant has no gateways: name the callers, as their tokens do, who say to which tenant a request belongs',
  )
}

/** Without authentication only this machine is served (API-46). @throws ApiOptionsError */
export const refuseUnauthenticatedNetwork = ({
  listen,
  plain = listen,
  issuers = [],
  allowUnauthenticated = false,
}: ApiOptions): void => {
  const open = [listen, plain].find(({ host }) => !LOOPBACK.test(host ?? ''))
  if (issuers.length > 0 || allowUnauthenticated || open === undefined) return
  throw new ApiOptionsError(
    'listen',
    `without authentication the API would be open to the network on ${open.host ?? 'every interface'}`,
  )
}
