import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createParser } from 'eventsource-parser'
import pg from 'pg'
import { describe, onTestFinished } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import type { Clock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import type { ApiOptions } from '#services/hyperfleet-api/options.ts'
import { type RunningApi, start } from '#services/hyperfleet-api/start.ts'
import { manualClock, postgresMissing, startPostgres } from '#test/harness/index.ts'

/** Where a test's data is; several servers may share a PostgreSQL's. */
export type DatabaseChoice = Pick<ApiOptions, 'databaseUrl'>

/** Runs the same tests on both databases. `fresh` gives each test an empty one. */
export const onBothDatabases = (tests: (fresh: () => Promise<DatabaseChoice>) => void): void => {
  describe('on SQLite', () => tests(async () => ({})))
  describe.skipIf(findPostgres() === undefined)(
    `on PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
    () => tests(freshPostgres),
  )
}

/** A folder for an embedded database; it goes with the test. */
export const temporaryData = async (): Promise<{ readonly dataDir: string }> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-api-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  return { dataDir }
}

let server: ReturnType<typeof startPostgres> | undefined

/** An empty database on one PostgreSQL server that the file's tests share; it ends with the test process. */
export const freshPostgres = async (): Promise<DatabaseChoice & { databaseUrl: string }> => {
  server ??= startPostgres()
  const { url } = await server
  const name = `test_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const own = new URL(url)
  own.pathname = name
  return { databaseUrl: own.toString() }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON; undefined when there was no body. */
  readonly body: Json
}

export interface TestApi extends RunningApi {
  readonly call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>
  /** A cluster of the default kinds. */
  readonly cluster: (name: string, labels?: Record<string, string>) => Promise<Answer['body']>
  /** A report with Available as given and all else fine. */
  readonly report: (path: string, report: Partial<Report> & { adapter: string }) => Promise<Answer>
}

interface Report {
  readonly observed_generation: number
  readonly observed_time: string
  readonly available: 'True' | 'False' | 'Unknown'
  readonly applied: 'True' | 'False'
  readonly health: 'True' | 'False'
  readonly finalized: 'True' | 'False'
  readonly data: object
}

/** Requests to an API, by the URL of its base path. */
export const requestTo =
  (url: string): TestApi['call'] =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

/** A server of the test's own on a free port; it is stopped when the test is over. */
export const serve = async (options: Partial<ApiOptions> = {}, clock: Clock = manualClock()): Promise<TestApi> => {
  const api = await start({ listen: { host: '127.0.0.1', port: 0 }, log: silent, clock, ...options })
  onTestFinished(() => api.stop())
  const call = requestTo(`${api.url}/api/hyperfleet/v1`)
  return {
    ...api,
    call,
    cluster: async (name, labels = {}) => (await call('POST', '/clusters', { name, labels, spec: {} })).body,
    report: (
      path,
      {
        adapter,
        observed_generation = 1,
        observed_time,
        available = 'True',
        applied = 'True',
        health = 'True',
        finalized,
        data,
      },
    ) =>
      call('PUT', `${path}/statuses`, {
        adapter,
        observed_generation,
        observed_time,
        data,
        conditions: [
          { type: 'Available', status: available },
          { type: 'Applied', status: applied },
          { type: 'Health', status: health },
          ...(finalized === undefined ? [] : [{ type: 'Finalized', status: finalized }]),
        ],
      }),
  }
}

/** The conditions of a resource, by type. */
export const conditionsOf = (
  resource: Json,
): Record<string, { status: string; reason: string; message: string; observed_generation: number }> =>
  Object.fromEntries(resource.status.conditions.map((condition: { type: string }) => [condition.type, condition]))

export interface Message {
  readonly type: string
  readonly version: number | undefined
  /** As it is written; no number to a tenant. */
  readonly position: string | undefined
  readonly object: Json
}

export interface Stream {
  readonly status: number
  /** The next message; rejects when the stream ends before it comes. */
  next(): Promise<Message>
  /** Messages up to and including the first that `wanted` holds for. */
  until(wanted: (message: Message) => boolean): Promise<Message[]>
  close(): void
}

/** Opens a watch stream; it is closed when the test is over. */
export const openWatch = async (
  api: RunningApi,
  path: string,
  headers: Record<string, string> = {},
): Promise<Stream> => {
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const response = await fetch(`${api.url}/api/hyperfleet/v1${path}`, { signal: abort.signal, headers })
  const messages: Message[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', id, data }) =>
      messages.push({
        type: event,
        version: id === undefined ? undefined : Number(id),
        position: id,
        object: JSON.parse(data),
      }),
  })
  const reader = response.body?.getReader()
  const text = new TextDecoder()
  const next = async (): Promise<Message> => {
    for (;;) {
      const message = messages.shift()
      if (message !== undefined) return message
      const chunk = await reader?.read()
      if (chunk?.value === undefined) throw new Error('the stream has ended')
      parser.feed(text.decode(chunk.value, { stream: true }))
    }
  }
  return {
    status: response.status,
    next,
    until: async (wanted) => {
      const seen: Message[] = []
      for (;;) {
        const message = await next()
        seen.push(message)
        if (wanted(message)) return seen
      }
    },
    close: () => abort.abort(),
  }
}
