import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import { measureQueue } from './events/metrics.ts'
import { databaseSource } from './feed/change-source.ts'
import { createFeed } from './feed/feed.ts'
import { createWakeup } from './feed/wakeup.ts'
import { createAccessControl } from './http/access-control.ts'
import { closeServer, listenOn, urlOf } from './http/listen.ts'
import { openApiDocument } from './http/openapi.ts'
import { buildOperations } from './http/operations.ts'
import { createHealthServer, createMetricsServer } from './http/probes.ts'
import { createServer } from './http/server.ts'
import type { Service } from './http/service.ts'
import { watchCertificate } from './http/tls-certificate.ts'
import { DEFAULT_REQUEST_TIMEOUTS } from './http/transport.ts'
import { measureConnections, measureQueries } from './metrics/database-metrics.ts'
import { countReconciliations, measureReconciliation } from './metrics/reconciliation-metrics.ts'
import { createMetrics } from './metrics/request-metrics.ts'
import { measureRoom } from './metrics/stream-metrics.ts'
import { builtinEntities, conditionCompiler, defineEntities } from './model/entity.ts'
import { createIdGenerator } from './model/id-generator.ts'
import { startRechecks } from './mutations/recheck-deletions.ts'
import { openAuthenticator, openCertificate, openQueue, openTracer } from './optional-components.ts'
import { type ApiOptions, refuseUnauthenticatedNetwork } from './options.ts'
import { readSpecSchemas } from './specs/read.ts'
import { openDatabase } from './storage/database.ts'
import { RETENTION_MS, startRetention } from './storage/retention.ts'
import { createRoom } from './storage/room.ts'
import { withTracing } from './tracing/tracer.ts'

export interface RunningApi {
  /** Of the API, without a path. */
  readonly url: string
  readonly healthUrl: string | undefined
  readonly metricsUrl: string | undefined
  /** Not ready; after `shutdownDelay` streams ended and requests finished; then closed, health and metrics last. */
  stop(): Promise<void>
}

/** Bytes that long answers of this process hold at a time: beside what sockets hold, and before projection. */
const STREAM_BYTES = 16 * 1024 * 1024
/** The Go service's threshold. */
const DEFAULT_STUCK_AFTER_MS = 10 * 60_000

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
  const { listen, log, clock, build = { version: '0.0.0', time: 'unknown' } } = options
  refuseUnauthenticatedNetwork(options)
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
    const opened = await openDatabase({
      databaseUrl: options.databaseUrl,
      dataDir: options.dataDir,
      onError: (error) => log.warn('a connection to the database broke', { error: error.message }),
      onQuery: measureQueries(metrics.registry),
      onCommitted: countReconciliations(metrics.registry),
    })
    closers.push(() => opened.close())
    const database = withTracing(opened, tracer)
    const wakeup = createWakeup(database, log)
    closers.push(() => wakeup.close())
    const feed = await createFeed(databaseSource(database), wakeup, log)
    closers.push(() => feed.close())
    closers.push(
      startRetention(database, clock, log, {
        ...RETENTION_MS,
        archive: options.archiveRetention ?? RETENTION_MS.archive,
      }),
    )

    const newId = createIdGenerator(now)
    measureConnections(metrics.registry, database)
    measureReconciliation(metrics.registry, {
      database,
      entities,
      now,
      stuckAfter: options.stuckAfter ?? DEFAULT_STUCK_AFTER_MS,
      log,
    })
    const eventQueue = await openQueue(options.natsUrl, { database, entities, wakeup, clock, newId, log })
    const queue = measureQueue(eventQueue, { registry: metrics.registry, database, now })
    closers.push(() => queue.close())

    const notReady = new AbortController()
    const stopping = new AbortController()
    const service: Service = {
      tracer,
      database,
      entities,
      specs,
      feed,
      queue,
      wakeup,
      room: measureRoom(metrics.registry, createRoom(options.streamBytes ?? STREAM_BYTES)),
      clock,
      now,
      newId,
      stopping: stopping.signal,
      notifyCommitted: (topic = 'changes') => wakeup.wake(topic),
    }
    closers.push(startRechecks(service, log))
    const operations = buildOperations(service)
    const openApi = openApiDocument(operations, build.version)
    const { tenants, rateLimit, inFlight, maxStreams, requestTimeouts = DEFAULT_REQUEST_TIMEOUTS, tls } = options
    const server = createServer({
      operations,
      openApi,
      build,
      newId,
      clock,
      stopping: stopping.signal,
      metrics,
      accessControl: createAccessControl({ authenticator, tenants, rateLimit, inFlight, maxStreams, now }),
      requestTimeouts,
      tls: certificate,
      tracer,
      log,
    })
    const health =
      options.health && (await listenOn(createHealthServer(database, queue, notReady.signal), options.health))
    const scraped = options.metrics && (await listenOn(createMetricsServer(metrics.registry), options.metrics))
    // Closed last: an end can be watched to its end.
    for (const probe of [health, scraped]) if (probe) closers.unshift(probe.close)
    closers.push(() => closeServer(server))
    await server.listen({ host: listen.host ?? '::', port: listen.port })
    if (tls !== undefined && certificate !== undefined)
      closers.push(watchCertificate(server.server as Server & SecureServer, tls, certificate, log))
    closers.push(async () => stopping.abort())
    closers.push(async () => {
      notReady.abort()
      // Until all load balancers have seen that this one isn't ready.
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
