import { createServer, type Server } from 'node:http'
import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import { detach } from '#lib/process/detach.ts'
import { limitIdleConnections } from '#lib/socket-queue.ts'
import type { EventQueue } from '../events/queue.ts'
import { type Database, isReadOnly, READ_ONLY_REASON } from '../storage/database.ts'

/** Milliseconds that the database has to answer before this process calls itself not ready. */
const PING_TIMEOUT_MS = 2_000

/**
 * `/healthz`: the process answers. `/readyz`: it takes requests, and its database answers. Without NATS it is ready too,
 * since events wait in the database and all else works, and where the database is set read-only as well; but it says that it
 * is degraded. On a standby it is not ready (API-70).
 */
export const createHealthServer = (
  database: Database,
  queue: Pick<EventQueue, 'unavailableReason'>,
  stopping: AbortSignal,
): Server =>
  servePages({
    '/healthz': async () => ({ status: 200, body: { status: 'ok' } }),
    '/readyz': async () => {
      if (stopping.aborted) return { status: 503, body: { status: 'shutting_down', reason: 'the server is stopping' } }
      const state = await probe(database)
      if (state === 'away' || state === 'standby') {
        const reason = state === 'standby' ? READ_ONLY_REASON : 'the database does not answer'
        return { status: 503, body: { status: 'not_ready', reason } }
      }
      const unavailableReason = state === 'read-only' ? READ_ONLY_REASON : queue.unavailableReason
      return {
        status: 200,
        body: unavailableReason === undefined ? { status: 'ok' } : { status: 'degraded', reason: unavailableReason },
      }
    },
  })

/** `/metrics` for Prometheus. */
export const createMetricsServer = (registry: Registry): Server =>
  servePages({
    '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
  })

interface ProbeResponse {
  readonly status: number
  readonly type?: string
  readonly body: object | string
}

const servePages = (pages: Readonly<Record<string, () => Promise<ProbeResponse>>>): Server => {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined
    const answer = page?.() ?? Promise.resolve<ProbeResponse>({ status: 404, body: { status: 'not found' } })
    const sent = answer
      .catch((): ProbeResponse => ({ status: 500, body: { status: 'error' } }))
      .then(({ status, type = 'application/json', body }) => {
        response.writeHead(status, { 'Content-Type': type })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    detach('answering a probe', sent)
  })
  limitIdleConnections(server)
  return server
}

type DatabaseState = 'writable' | 'read-only' | 'standby' | 'away'

const probe = async ({ kysely, dialect }: Database): Promise<DatabaseState> => {
  const timeout = Promise.withResolvers<DatabaseState>()
  const timer = setTimeout(() => timeout.resolve('away'), PING_TIMEOUT_MS)
  const readOnly =
    dialect === 'postgres' ? sql<boolean>`current_setting('transaction_read_only') = 'on'` : sql<boolean>`false`
  const answered = sql<{ isReadOnly: boolean }>`select ${readOnly} as "isReadOnly"`.execute(kysely).then(
    ({ rows: [row] }): DatabaseState => (row?.isReadOnly === true ? 'read-only' : 'writable'),
    (error: unknown): DatabaseState => (isReadOnly(error) ? 'standby' : 'away'),
  )
  try {
    return await Promise.race([answered, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}
