import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { once } from '#lib/once.ts'
import { createAccessControl } from './http/access-control.ts'
import { closeServer, listenOn, listenPlain, urlOf } from './http/listen.ts'
import { openApiDocument } from './http/openapi.ts'
import { buildOperations } from './http/operations.ts'
import { createHealthServer, createMetricsServer } from './http/probes.ts'
import { createServer } from './http/server.ts'
import type { Service } from './http/service.ts'
import { type Certificate, watchCertificate } from './http/tls-certificate.ts'
import { DEFAULT_REQUEST_TIMEOUTS } from './http/transport.ts'
import type { Metrics } from './metrics/request-metrics.ts'
import { builtinEntities, conditionCompiler, defineEntities } from './model/entity.ts'
import { type Closers, openService } from './open-service.ts'
import { keepOrigins, openAuthenticator, openCertificate } from './optional-components.ts'
import { type ApiOptions, buildOf, refuseTenantsWithoutGateways, refuseUnauthenticatedNetwork } from './options.ts'
import { readSpecSchemas } from './specs/read.ts'

export interface RunningApi {
  /** Of the API, without a path. */
  readonly url: string
  /** The same over HTTP, with `plain`. */
  readonly plainUrl: string | undefined
  readonly healthUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Not ready; after `shutdownDelay` streams ended and requests finished; then closed, health and metrics last. */
  stop(): Promise<void>
}

/**
 * The HyperFleet API: resources of configured kinds, adapter reports and what they add up to, events for consumers,
 * and a stream of every change.
 *
 *   HTTP ─► http/ (operations, checked) ─► mutations/ ─► model/ (pure decisions) ─► storage/ (one transaction)
 *                                      └─► events/                                     │ commit
 *   watch streams ◄─ feed/ ◄───────────────────────── wakeup ◄─────────────────────────┘
 *
 * Opens the database and serves.
 * @throws ApiOptionsError | ConfigError | SpecSchemaError for options that can't be served, and whatever keeps a database or a port from opening
 */
export const start = async (options: ApiOptions): Promise<RunningApi> => {
  const { log, clock } = options
  refuseUnauthenticatedNetwork(options)
  refuseTenantsWithoutGateways(options)
  const kinds = options.entities ?? builtinEntities
  const entities = defineEntities(kinds, await conditionCompiler(kinds))
  const specs = await readSpecSchemas(options.openapiSchemaPath, entities, log)
  const authenticator = await openAuthenticator(options, () => clock.now())
  const certificate = await openCertificate(options)
  const closers: Closers = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const stopping = new AbortController()
    const { service, metrics } = await openService(options, { entities, specs }, stopping.signal, closers)
    await keepOrigins(authenticator, service.database, options)
    const server = buildServer(options, service, metrics, { authenticator, certificate })
    const probes = await serve(options, { server, service, metrics, certificate, stopping }, closers)
    const url = urlOf(server.server, options.tls === undefined ? 'http' : 'https')
    log.info('the HyperFleet API is serving', {
      url,
      ...(probes.plainUrl !== undefined && { plainUrl: probes.plainUrl }),
      database: service.database.dialect,
      kinds: entities.all.map(({ kind }) => kind),
      authentication: (options.issuers ?? []).length > 0,
    })
    return { url, ...probes, stop: once(close) }
  } catch (error) {
    await close()
    throw error
  }
}

/** What checks callers and encrypts, each when an option asks for it. */
interface Protection {
  readonly authenticator: Awaited<ReturnType<typeof openAuthenticator>>
  readonly certificate: Certificate | undefined
}

const buildServer = (
  options: ApiOptions,
  service: Service,
  metrics: Metrics,
  { authenticator, certificate }: Protection,
): FastifyInstance => {
  const { tenants, rateLimit, inFlight, maxStreams, requestTimeouts = DEFAULT_REQUEST_TIMEOUTS, log } = options
  const { clock, now, stopping, tracer, bodies, answers } = service
  const build = buildOf(options)
  const operations = buildOperations(service)
  return createServer({
    operations,
    openApi: openApiDocument(operations, build.version),
    build,
    clock,
    now,
    stopping,
    metrics,
    accessControl: createAccessControl({
      authenticator,
      tenants,
      rateLimit,
      inFlight,
      maxStreams,
      now: () => clock.now(),
    }),
    bodies,
    answers,
    bodyPatience: requestTimeouts.request / 3,
    requestTimeouts,
    tls: certificate,
    tracer,
    log,
  })
}

interface Serving {
  readonly server: FastifyInstance
  readonly service: Service
  readonly metrics: Metrics
  readonly certificate: Certificate | undefined
  readonly stopping: AbortController
}

/** Listens: probes and metrics first, so that a start can be watched, and their end last. */
const serve = async (
  options: ApiOptions,
  { server, service, metrics, certificate, stopping }: Serving,
  closers: Closers,
): Promise<Pick<RunningApi, 'plainUrl' | 'healthUrl' | 'metricsUrl'>> => {
  const { health, metrics: scrape, listen, plain, tls, shutdownDelay, log } = options
  const notReady = new AbortController()
  const probed =
    health && (await listenOn(createHealthServer(service.database, service.queue, notReady.signal), health))
  const scraped = scrape && (await listenOn(createMetricsServer(metrics.registry), scrape))
  // Closed last: an end can be watched to its end.
  for (const probe of [probed, scraped]) if (probe) closers.unshift(probe.close)
  closers.push(() => closeServer(server))
  await server.listen({ host: listen.host ?? '::', port: listen.port })
  const { requestTimeouts = DEFAULT_REQUEST_TIMEOUTS } = options
  const beside = plain && (await listenPlain(server, plain, requestTimeouts))
  if (beside) closers.push(beside.close)
  if (tls !== undefined && certificate !== undefined)
    closers.push(watchCertificate(server.server as Server & SecureServer, tls, certificate, log, service.clock))
  closers.push(async () => stopping.abort())
  closers.push(async () => {
    notReady.abort()
    // Until all load balancers have seen that this one isn't ready.
    if (shutdownDelay) await service.clock.sleep(shutdownDelay)
  })
  return { plainUrl: beside?.url, healthUrl: probed?.url, metricsUrl: scraped?.url }
}
