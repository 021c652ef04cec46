import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Database, type ExecutedQuery, sqlState } from '../storage/database.ts'

/** Measures the statements of a database that is about to be opened, under the Go service's names. */
export const measureQueries = (registry: Registry): ((query: ExecutedQuery) => void) => {
  const registers = [registry]
  const duration = new Histogram({
    name: 'hyperfleet_db_query_duration_seconds',
    help: 'Time of a statement on the database, by its first word and the table it is about',
    labelNames: ['operation', 'table'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  })
  const errors = new Counter({
    name: 'hyperfleet_db_errors_total',
    help: 'Statements that the database refused, by its error code',
    labelNames: ['operation', 'error_type'],
    registers,
  })
  return ({ sql, seconds, error }) => {
    const { operation, table } = describeStatement(sql)
    duration.observe({ operation, table }, seconds)
    if (error !== undefined) errors.inc({ operation, error_type: sqlState(error) ?? 'unknown' })
  }
}

const OPERATION = /\b(select|insert|update|delete|begin|commit|rollback|listen|notify|lock)\b/i
const TABLE = /\b(?:from|into|update)\s+"?([a-z_]+)"?/i

/** What a statement does and to which table; of one with several parts, what comes first. */
export const describeStatement = (sql: string): { readonly operation: string; readonly table: string } => ({
  operation: OPERATION.exec(sql)?.[1]?.toLowerCase() ?? 'other',
  table: TABLE.exec(sql)?.[1]?.toLowerCase() ?? '',
})

/** Connections, where there are any. */
export const measureConnections = (registry: Registry, { pool }: Pick<Database, 'pool'>): void => {
  const registers = [registry]
  new Gauge({
    name: 'hyperfleet_db_connections_open',
    help: 'Connections to PostgreSQL; 0 with the embedded database',
    registers,
    collect() {
      this.set(pool?.totalCount ?? 0)
    },
  })
  new Gauge({
    name: 'hyperfleet_db_connections_in_use',
    help: 'Connections to PostgreSQL that are serving a request',
    registers,
    collect() {
      this.set(pool === undefined ? 0 : pool.totalCount - pool.idleCount)
    },
  })
}
