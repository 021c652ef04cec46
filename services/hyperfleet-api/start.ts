import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import { measured } from './events/metrics.ts'
import { createFeed } from './feed/feed.ts'
import { createWakeup } from './feed/wakeup.ts'
import { followCertificate } from './http/certificate.ts'
import { createGuard } from './http/guard.ts'
import { drain, listenOn, urlOf } from './http/listen.ts'
import { openApiDocument } from './http/openapi.ts'
import { operationsOf } from './http/operations.ts'
import { healthServer, metricsServer } from './http/probes.ts'
import { createServer } from './http/server.ts'
import type { Service } from './http/service.ts'
import { PATIENCE } from './http/transport.ts'
import { measureQueries, watchConnections } from './metrics/database.ts'
import { createMetrics } from './metrics/metrics.ts'
import { countReconciliations, watchReconciliation } from './metrics/reconciliation.ts'
import { builtinEntities, conditionCompiler, defineEntities } from './model/entity.ts'
import { identifiers } from './model/identifier.ts'
import { type ApiOptions, refuseStrangers } from './options.ts'
import { openAuthenticator, openCertificate, openQueue, openTracer } from './parts.ts'
import { readSpecSchemas } from './specs/read.ts'
import { openDatabase } from './storage/database.ts'
import { KEEP, startRetention } from './storage/retention.ts'
import { tracedDatabase } from './tracing/tracer.ts'

export interface RunningApi {
  /** Of the API, without a path. */
  readonly url: string
  readonly healthUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Not ready; after `shutdownDelay` streams ended and requests finished; then closed, health and metrics last. */
  stop(): Promise<void>
}

/** The peer's threshold. */
const STUCK = 10 * 60_000

/**
 * The HyperFleet API: resources of configured kinds, adapter reports and what they add up to, events for consumers,
 * and a stream of every change.
 *
 *   HTTP ─► http/ (operations, checked) ─► mutations/ ─► model/ (pure decisions) ─► storage/ (one transaction)
 *                                      └─► events/                                     │ commit
 *   watch streams ◄─ feed/ ◄───────────────────────── wakeup ◄─────────────────────────┘
 *
 * Opens the database and serves.
 * @throws ApiOptionsError | EntityError | SpecSchemaError for options that can't be served, and whatever keeps a database or a port from opening
 */
export const start = async (options: ApiOptions): Promise<RunningApi> => {
  const { listen, log, clock, build = { version: '0.0.0', time: 'unknown' } } = options
  refuseStrangers(options)
  const kinds = options.entities ?? builtinEntities
  const entities = defineEntities(kinds, await conditionCompiler(kinds))
  const specs = await readSpecSchemas(options.openapiSchemaPath, entities, log)
  const now = () => clock.now()
  const authenticator = await openAuthenticator(options, now)
  const certificate = await openCertificate(options)
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const metrics = createMetrics(build.version)
    const tracer = await openTracer(options, build)
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
    const openApi = openApiDocument(operations, build.version)
    const { tenants, pace, mostStreams, patience = PATIENCE, tls } = options
    const server = createServer({
      operations,
      openApi,
      build,
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

const once = (action: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined
  return () => {
    running ??= action()
    return running
  }
}
