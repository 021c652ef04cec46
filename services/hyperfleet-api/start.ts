import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import { type Authenticator, createAuthenticator } from './auth/authenticate.ts'
import type { IssuerSettings } from './auth/issuer.ts'
import type { TenantRules } from './auth/tenancy.ts'
import type { Pace } from './auth/token-bucket.ts'
import { databaseQueue } from './events/database-queue.ts'
import type { JetStreamQueueOptions } from './events/jetstream/jetstream-queue.ts'
import { measured } from './events/metrics.ts'
import type { EventQueue } from './events/queue.ts'
import { createFeed } from './feed/feed.ts'
import { createWakeup } from './feed/wakeup.ts'
import { followCertificate, readCertificate, type TlsFiles } from './http/certificate.ts'
import { createGuard } from './http/guard.ts'
import { openApiDocument } from './http/openapi.ts'
import type { Operation } from './http/operation.ts'
import { healthServer, metricsServer } from './http/probes.ts'
import { anyKindOperations } from './http/routes/any-kind.ts'
import { archiveOperations } from './http/routes/archive.ts'
import { eventOperations } from './http/routes/events.ts'
import { forceDeleteOperations } from './http/routes/force-delete.ts'
import { belowAncestors, type Place, placesOf } from './http/routes/places.ts'
import { resourceOperations } from './http/routes/resources.ts'
import { statusOperations } from './http/routes/statuses.ts'
import { createServer } from './http/server.ts'
import type { Service } from './http/service.ts'
import { PATIENCE, type Patience } from './http/transport.ts'
import { measureQueries, watchConnections } from './metrics/database.ts'
import { createMetrics } from './metrics/metrics.ts'
import { countReconciliations, watchReconciliation } from './metrics/reconciliation.ts'
import { builtinEntities, conditionCompiler, defineEntities, type EntityConfig } from './model/entity.ts'
import { identifiers } from './model/identifier.ts'
import { readSpecSchemas } from './specs/read.ts'
import { openDatabase } from './storage/database.ts'
import { KEEP, startRetention } from './storage/retention.ts'
import { type Tracer, tracedDatabase, untraced } from './tracing/tracer.ts'

/**
 * The HyperFleet API: resources of configured kinds, adapter reports and what they add up to, events for consumers,
 * and a stream of every change.
 *
 *   HTTP ─► http/ (operations, checked) ─► mutations/ ─► model/ (pure decisions) ─► storage/ (one transaction)
 *                                      └─► events/                                     │ commit
 *   watch streams ◄─ feed/ ◄───────────────────────── wakeup ◄─────────────────────────┘
 */
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
  /** How long a resource may wait for its adapters before it counts as stuck, in milliseconds; 10 minutes when absent. */
  readonly stuckAfter?: number | undefined
  /** How long removed resources stay in the archive, in milliseconds; 30 days when absent, for ever when 0. */
  readonly archiveRetention?: number | undefined
  /** The kinds that are served; clusters and nodepools when absent. */
  readonly entities?: readonly EntityConfig[] | undefined
  /** OpenAPI or JSON Schema file with the schemas that specs must fit. */
  readonly openapiSchemaPath?: string | undefined
  /** Whose tokens are taken; callers are not asked who they are when absent or empty. */
  readonly issuers?: readonly IssuerSettings[] | undefined
  /** Who belongs to whom, as a gateway says; everything is everybody's when absent. */
  readonly tenants?: TenantRules | undefined
  /** HTTPS with these files; HTTP when absent. */
  readonly tls?: TlsFiles | undefined
  /** How fast each known caller may go; without bounds when absent. */
  readonly pace?: Pace | undefined
  /** Open watch streams of each known caller; any number when absent. */
  readonly mostStreams?: number | undefined
  /** How long callers may take to send a request. */
  readonly patience?: Patience | undefined
  /** Milliseconds between being told to stop, when readiness ends, and taking no more requests; 0 when absent. */
  readonly shutdownDelay?: number | undefined
  /** OpenTelemetry collector to which spans are sent by OTLP over HTTP; nothing is traced when absent. */
  readonly otlpEndpoint?: string | undefined
  /** Serve strangers too: without authentication only this machine is served, unless this says otherwise. */
  readonly allowUnauthenticated?: boolean | undefined
  readonly version?: string | undefined
  readonly log: Logger
  readonly clock: Clock
}

export interface ListenAddress {
  /** Every interface when undefined. */
  readonly host?: string | undefined
  readonly port: number
}

export interface RunningApi {
  /** Of the API, without a path. */
  readonly url: string
  readonly healthUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Not ready; after `shutdownDelay` streams ended and requests finished; then closed, health and metrics last. */
  stop(): Promise<void>
}

/** Options that can't be served; the message says what to write instead. */
export class ApiOptionsError extends Error {
  readonly option: 'listen' | 'issuers' | 'tls'

  constructor(option: ApiOptionsError['option'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ApiOptionsError'
    this.option = option
  }
}

/**
 * Opens the database and serves.
 * @throws ApiOptionsError | EntityError | SpecSchemaError for options that can't be served, and whatever keeps a database or a port from opening
 */
export const start = async (options: ApiOptions): Promise<RunningApi> => {
  const { listen, log, clock, version = '0.0.0' } = options
  refuseStrangers(options)
  const kinds = options.entities ?? builtinEntities
  const entities = defineEntities(kinds, await conditionCompiler(kinds))
  const specs = await readSpecSchemas(options.openapiSchemaPath, entities, log)
  const now = () => clock.now()
  const authenticator = await openAuthenticator(options, now)
  const certificate = options.tls && (await readTls(options.tls))
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const metrics = createMetrics(version)
    const tracer = await openTracer(options)
    closers.push(() => tracer.close())
    const connected = await openDatabase({
      databaseUrl: options.databaseUrl,
      dataDir: options.dataDir,
      onError: (error) => log.warn('a connection to the database broke', { error: error.message }),
      onQuery: measureQueries(metrics.registry),
      onCommitted: countReconciliations(metrics.registry),
    })
    closers.push(() => connected.close())
    const database = tracedDatabase(connected, tracer)
    const wakeup = createWakeup(database, log)
    closers.push(() => wakeup.close())
    const feed = await createFeed(database, wakeup, log)
    closers.push(() => feed.close())
    closers.push(startRetention(database, clock, log, { ...KEEP, archive: options.archiveRetention ?? KEEP.archive }))

    const newId = identifiers(now)
    watchConnections(metrics.registry, database)
    watchReconciliation(metrics.registry, { database, entities, now, stuckAfter: options.stuckAfter ?? STUCK, log })
    const opened = await openQueue(options.natsUrl, { database, entities, wakeup, clock, newId, log })
    const queue = measured(opened, { registry: metrics.registry, database, now })
    closers.push(() => queue.close())

    const leaving = new AbortController()
    const stopping = new AbortController()
    const service: Service = {
      tracer,
      database,
      entities,
      specs,
      feed,
      queue,
      wakeup,
      clock,
      now,
      newId,
      stopping: stopping.signal,
      committed: () => wakeup.wake(),
    }
    const operations = operationsOf(service)
    const openApi = openApiDocument(operations, version)
    const { tenants, pace, mostStreams, patience = PATIENCE, tls } = options
    const server = createServer({
      operations,
      openApi,
      version,
      newId,
      now,
      stopping: stopping.signal,
      metrics,
      guard: createGuard({ authenticator, tenants, pace, mostStreams, now }),
      patience,
      tls: certificate,
      tracer,
      log,
    })
    const health = options.health && (await listenOn(healthServer(database, queue, leaving.signal), options.health))
    const scraped = options.metrics && (await listenOn(metricsServer(metrics.registry), options.metrics))
    // Closed last: an end can be watched to its end.
    for (const probe of [health, scraped]) if (probe) closers.unshift(probe.close)
    closers.push(() => drain(server))
    await server.listen({ host: listen.host ?? '::', port: listen.port })
    if (tls !== undefined && certificate !== undefined)
      closers.push(followCertificate(server.server as Server & SecureServer, tls, certificate, log))
    closers.push(async () => stopping.abort())
    closers.push(async () => {
      leaving.abort()
      // Until everybody who sends requests has seen that this one isn't ready.
      if (options.shutdownDelay) await clock.sleep(options.shutdownDelay)
    })

    const url = urlOf(server.server, tls === undefined ? 'http' : 'https')
    log.info('the HyperFleet API is serving', {
      url,
      database: database.dialect,
      kinds: entities.all.map(({ kind }) => kind),
      authentication: (options.issuers ?? []).length > 0,
    })
    return { url, healthUrl: health?.url, metricsUrl: scraped?.url, stop: once(close) }
  } catch (error) {
    await close()
    throw error
  }
}

const openQueue = async (url: string | undefined, parts: Omit<JetStreamQueueOptions, 'url'>): Promise<EventQueue> => {
  if (url === undefined) return databaseQueue(parts)
  // Imported when used: an API without NATS doesn't carry its client.
  const { jetStreamQueue } = await import('./events/jetstream/jetstream-queue.ts')
  return jetStreamQueue({ ...parts, url })
}

/** The peer's threshold. */
const STUCK = 10 * 60_000

const operationsOf = (service: Service): Operation[] => [
  ...service.entities.all
    .flatMap(placesOf)
    .flatMap((place) => operationsAt(service, place).map((operation) => belowAncestors(service, place, operation))),
  ...anyKindOperations(service, (place) => operationsAt(service, place)),
  ...archiveOperations(service),
  ...eventOperations(service),
]

/** What every kind has, wherever it is served. */
const operationsAt = (service: Service, place: Place): Operation[] => [
  ...resourceOperations(service, place),
  ...statusOperations(service, place),
  ...forceDeleteOperations(service, place),
]

/** Milliseconds that requests under way have to finish when the server stops. */
const DRAIN = 10_000

const drain = async (server: FastifyInstance): Promise<void> => {
  const cut = setTimeout(() => server.server.closeAllConnections(), DRAIN)
  await server.close()
  clearTimeout(cut)
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

const refuseStrangers = ({ listen, issuers = [], allowUnauthenticated = false }: ApiOptions): void => {
  if (issuers.length > 0 || allowUnauthenticated || LOOPBACK.test(listen.host ?? '')) return
  throw new ApiOptionsError(
    'listen',
    `without authentication the API would be open to the network on ${listen.host ?? 'every interface'}`,
  )
}

const openAuthenticator = async (
  { issuers = [], log }: ApiOptions,
  now: () => Date,
): Promise<Authenticator | undefined> => {
  if (issuers.length === 0) return undefined
  return createAuthenticator(issuers, now, log).catch((error: Error) => {
    throw new ApiOptionsError('issuers', error.message, { cause: error })
  })
}

const openTracer = async ({ otlpEndpoint, version = '0.0.0', log }: ApiOptions): Promise<Tracer> => {
  if (otlpEndpoint === undefined) return untraced
  // Imported when used: an API that isn't traced doesn't carry it.
  const { createTracer } = await import('./tracing/otlp.ts')
  return createTracer(otlpEndpoint, version, log)
}

const readTls = (files: TlsFiles) =>
  readCertificate(files).catch((error: Error) => {
    throw new ApiOptionsError('tls', error.message, { cause: error })
  })

const listenOn = async (server: Server, { host, port }: ListenAddress) => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host: host ?? '::', port }, resolve)
  await promise
  return {
    url: urlOf(server),
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const urlOf = (server: Server, scheme = 'http'): string => {
  const { address, port, family } = server.address() as AddressInfo
  const isEverywhere = address === '::' || address === '0.0.0.0'
  const host = isEverywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address
  return `${scheme}://${host}:${port}`
}

const once = (action: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined
  return () => {
    running ??= action()
    return running
  }
}
