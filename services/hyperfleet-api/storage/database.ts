import { Kysely, type LogEvent } from 'kysely'
import type pg from 'pg'
import { beginRunOfServer } from '../feed/history.ts'
import type { DialectName, Writer } from './dialect.ts'
import { migrate } from './layout/migrate.ts'
import type { ResourceWrite } from './resource-write.ts'
import type { Tables } from './schema.ts'
import { recordWrites } from './write-resource.ts'

/** An open, migrated database. */
export interface Database {
  readonly dialect: DialectName
  readonly kysely: Kysely<Tables>
  /** The pool, for LISTEN and for metrics. Only on PostgreSQL. */
  readonly pool: pg.Pool | undefined
  /**
   * Runs `work` as one transaction, again when PostgreSQL ended it to break a deadlock: `work` must not act outside
   * the transaction.
   */
  transaction<T>(work: (writer: Writer) => Promise<T>): Promise<T>
  /** Tells of steps that were committed by other means than a transaction. */
  notifyCommitted(steps: readonly ResourceWrite[]): void
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** `postgres://…`; without it SQLite. */
  readonly databaseUrl?: string | undefined
  /** SQLite's folder, made when missing; without it the database lives in memory and dies with the process. */
  readonly dataDir?: string | undefined
  /** Told of connections that broke while idle. */
  readonly onError: (error: Error) => void
  /** Told of every statement when it is done. */
  readonly onQuery?: ((query: ExecutedQuery) => void) | undefined
  /** Told of the steps of every transaction that was committed. */
  readonly onCommitted?: ((steps: readonly ResourceWrite[]) => void) | undefined
}

export interface ExecutedQuery {
  readonly sql: string
  readonly seconds: number
  /** Why the database refused it. */
  readonly error?: unknown
}

/** Opens the database and brings its layout up to date. */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  const { dialect, pool, kysely } = await connect(options)
  const notifyCommitted = options.onCommitted ?? (() => {})
  try {
    await migrate(kysely as unknown as Kysely<unknown>, dialect)
    if (dialect === 'postgres') await beginRunOfServer(kysely)
  } catch (error) {
    await kysely.destroy()
    throw error
  }
  return {
    dialect,
    kysely,
    pool,
    transaction: async (work) => {
      const steps: ResourceWrite[] = []
      const result = await retryDeadlocks(() =>
        kysely.transaction().execute((writer) => {
          steps.length = 0
          recordWrites(writer, steps)
          return work(writer)
        }),
      )
      notifyCommitted(steps)
      return result
    },
    notifyCommitted,
    close: () => kysely.destroy(),
  }
}

/** Only the driver that is used is loaded: they are a good part of an idle process. */
const connect = async ({ databaseUrl, dataDir, onError, onQuery }: DatabaseOptions) => {
  const log = onQuery && logTo(onQuery)
  if (databaseUrl === undefined) {
    const { sqliteDialect } = await import('./sqlite.ts')
    const kysely = new Kysely<Tables>({ dialect: sqliteDialect(dataDir), ...(log && { log }) })
    return { dialect: 'sqlite', pool: undefined, kysely } as const
  }
  const { openPostgres } = await import('./postgres.ts')
  const { pool, dialect } = openPostgres(databaseUrl, onError)
  return { dialect: 'postgres', pool, kysely: new Kysely<Tables>({ dialect, ...(log && { log }) }) } as const
}

const logTo =
  (onQuery: (query: ExecutedQuery) => void) =>
  (event: LogEvent): void =>
    onQuery({
      sql: event.query.sql,
      seconds: event.queryDurationMillis / 1000,
      ...(event.level === 'error' && { error: event.error }),
    })

const MAX_ATTEMPTS = 5
/** serialization_failure and deadlock_detected: the transaction is undone and may simply run again. */
const RETRIED_CODES = new Set(['40001', '40P01'])

const retryDeadlocks = async <T>(run: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !RETRIED_CODES.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** PostgreSQL's five-character error code, when the error comes from it. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Why a database takes no writes; answered to callers and by `/readyz`. */
export const READ_ONLY_REASON = 'the database takes no writes: it is a standby, or set read-only'

/** read_only_sql_transaction: a standby that was not promoted yet, which is not even connected to, or a server that is set so. */
export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006'

const SQLITE_FULL = 13

/** Whether a write failed for want of room: SQLite's SQLITE_FULL, PostgreSQL's disk_full. */
export const isFull = (error: unknown): boolean =>
  sqlState(error) === '53100' || (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_FULL)
