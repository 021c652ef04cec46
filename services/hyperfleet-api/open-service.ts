import { getHeapStatistics } from 'node:v8'
import { createVersionSeal } from './auth/version-seal.ts'
import { measureQueue } from './events/metrics.ts'
import { databaseSource } from './feed/change-source.ts'
import { createFeed } from './feed/feed.ts'
import { createLiveMessages } from './feed/live-messages.ts'
import { createWakeup } from './feed/wakeup.ts'
import type { Service } from './http/service.ts'
import { createUnsentAnswers } from './http/unsent-answers.ts'
import { measureConnections, measureQueries } from './metrics/database-metrics.ts'
import { countReconciliations, measureReconciliation } from './metrics/reconciliation-metrics.ts'
import { createMetrics, type Metrics } from './metrics/request-metrics.ts'
import { type HeldBytes, measureHeldBytes } from './metrics/stream-metrics.ts'
import type { Entities } from './model/entity.ts'
import { createIdGenerator } from './model/id-generator.ts'
import { startRechecks } from './mutations/recheck-deletions.ts'
import { openQueue, openTracer } from './optional-components.ts'
import { type ApiOptions, buildOf, natsOf } from './options.ts'
import { SearchTurns, type SearchTurnsSettings } from './search/turns.ts'
import type { SpecSchemas } from './specs/schemas.ts'
import { type Database, openDatabase } from './storage/database.ts'
import { openDatabaseClock } from './storage/database-clock.ts'
import type { DialectName } from './storage/dialect.ts'
import { createKnownReporters } from './storage/known-reporters.ts'
import { createKnownTotals } from './storage/known-totals.ts'
import { findPlainHost } from './storage/plain-connection.ts'
import { RETENTION_MS, startRetention } from './storage/retention.ts'
import { createRoom } from './storage/room.ts'
import { sharedTime } from './storage/shared-time.ts'
import { refuseHalfTakenOver } from './takeover/under-way.ts'
import { type Tracer, withTracing } from './tracing/tracer.ts'

/** SQLite runs in this process, so nothing else is answered during a search; PostgreSQL has connections left for others. */
const SEARCH_TURNS: Readonly<Record<DialectName, SearchTurnsSettings>> = {
  sqlite: { total: 1, pauses: true },
  postgres: { total: 8, pauses: false },
}

/** Of V8's heap, as a document takes a multiple of its text while it is read, changed and written. Bytes; API-196. */
const HEAP_SHARE = Math.floor(getHeapStatistics().heap_size_limit / 32)
/** Bytes that long answers of this process hold at a time: beside what sockets hold, and before projection. */
const STREAM_BYTES = Math.min(16 * 1024 * 1024, HEAP_SHARE)
const BODY_BYTES = Math.min(8 * 1024 * 1024, HEAP_SHARE)
/** Pages among them, which are outside of the heap. */
const ANSWER_BYTES = Math.min(32 * 1024 * 1024, 2 * HEAP_SHARE)
/** The Go service's threshold. */
const DEFAULT_STUCK_AFTER_MS = 10 * 60_000

/** What is closed when the API stops: the last one first. */
export type Closers = (() => Promise<void>)[]

/** What the operations work with, opened; each part is among the closers as soon as it is there. */
export const openService = async (
  options: ApiOptions,
  { entities, specs }: { readonly entities: Entities; readonly specs: SpecSchemas },
  stopping: AbortSignal,
  closers: Closers,
): Promise<{ readonly service: Service; readonly metrics: Metrics }> => {
  const { log, clock } = options
  const metrics = createMetrics(buildOf(options).version)
  const tracer = await openTracer(options, buildOf(options))
  closers.push(() => tracer.close())
  const database = await openMeasuredDatabase(options, metrics, tracer, closers)
  const databaseClock = await openDatabaseClock(database, clock, log)
  closers.push(() => databaseClock.close())
  const { now } = databaseClock
  const newId = createIdGenerator(now)
  const wakeup = createWakeup(database, log)
  closers.push(() => wakeup.close())
  const feed = await createFeed(databaseSource(database, clock), wakeup, log)
  closers.push(() => feed.close())
  const archive = options.archiveRetention ?? RETENTION_MS.archive
  closers.push(startRetention(database, now, log, { ...RETENTION_MS, archive }))

  measureConnections(metrics.registry, database)
  const stuckAfter = options.stuckAfter ?? DEFAULT_STUCK_AFTER_MS
  measureReconciliation(metrics.registry, { database, entities, now, stuckAfter, log })
  const eventQueue = await openQueue(natsOf(options), { database, entities, wakeup, clock, newId, log })
  const queue = measureQueue(eventQueue, { registry: metrics.registry, database, now })
  closers.push(() => queue.close())

  const streamBytes = options.streamBytes ?? STREAM_BYTES
  const answerBytes = options.answerBytes ?? ANSWER_BYTES
  const held: HeldBytes = {
    room: createRoom(streamBytes, clock),
    live: createLiveMessages(streamBytes),
    bodies: createRoom(BODY_BYTES, clock),
    answers: createUnsentAnswers(createRoom(answerBytes, clock), answerBytes),
  }
  measureHeldBytes(metrics.registry, held)

  const service: Service = {
    tracer,
    database,
    entities,
    specs,
    feed,
    queue,
    wakeup,
    totals: createKnownTotals(),
    versions: createVersionSeal(await readVersionKey(database)),
    reporters: createKnownReporters(),
    searchTurns: new SearchTurns(SEARCH_TURNS[database.dialect]),
    ...held,
    clock,
    sharedTime: sharedTime(database, clock),
    now,
    newId,
    stopping,
    notifyCommitted: (topic = 'changes') => wakeup.wake(topic),
    log,
  }
  closers.push(startRechecks(service))
  return { service, metrics }
}

/** Of the database, so that all replicas have it. @throws Error when it is missing */
const readVersionKey = async ({ kysely }: Database): Promise<string> =>
  (await kysely.selectFrom('version_key').select('secret').executeTakeFirstOrThrow()).secret

const openMeasuredDatabase = async (
  { databaseUrl, dataDir, log }: ApiOptions,
  { registry }: Metrics,
  tracer: Tracer,
  closers: Closers,
): Promise<Database> => {
  const plainHost = databaseUrl === undefined ? undefined : findPlainHost(databaseUrl)
  if (plainHost !== undefined)
    log.warn('the connection to the database is not encrypted: the network can read and change what is stored', {
      host: plainHost,
      todo: 'add sslmode=verify-full, and sslrootcert=FILE where its authority is your own, to the URL of the database',
    })
  const opened = await openDatabase({
    databaseUrl,
    dataDir,
    onError: (error) =>
      log.warn('a connection to the database broke, the next statement opens another', { error: error.message }),
    onQuery: measureQueries(registry),
    onCommitted: countReconciliations(registry),
  })
  closers.push(() => opened.close())
  await refuseHalfTakenOver(opened.kysely)
  return withTracing(opened, tracer)
}
