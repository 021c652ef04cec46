/** CPU of a PostgreSQL: of all its processes that are there. */
import type pg from 'pg'
import { usageOf } from '../measure/process.ts'

/**
 * Milliseconds of CPU of the server so far, over the processes that are there or were when it was asked before. Backends
 * live as long as their connections, so nearly nothing is missed.
 */
export const databaseCpu = (client: pg.Client): (() => Promise<number>) => {
  const known = new Map<number, number>()
  return async () => {
    const { rows } = await client.query<{ pid: number }>(
      'select pid from pg_stat_activity where pid <> pg_backend_pid()',
    )
    for (const { pid } of rows) {
      try {
        known.set(pid, usageOf(pid).cpuMs)
      } catch {
        // Ended since: what it had is counted.
      }
    }
    return [...known.values()].reduce((sum, ms) => sum + ms, 0)
  }
}
