/** What the API asks of its database. */
import { setTimeout as sleep } from 'node:timers/promises'
import { moment } from '../load/moment.ts'
import type { ApiProcess } from '../program.ts'

/** Milliseconds in which only what the API does by itself is counted. */
const QUIET_MS = 5_000

export interface StatementMeter {
  /** What is sent when nothing happens, a millisecond. */
  readonly quiet: number
  /** How many statements the work took, each of them one round trip, without those that are sent when nothing happens. */
  count(work: () => Promise<void>): Promise<number>
}

/** Counts for all of these API processes together, by their own metrics. Takes some seconds in which nothing should happen. */
export const statementMeter = async (servers: readonly Pick<ApiProcess, 'metricsUrl'>[]): Promise<StatementMeter> => {
  const total = async (): Promise<number> => {
    const counts = await Promise.all(servers.map(statementsOf))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const spent = async (work: () => Promise<unknown>): Promise<{ readonly statements: number; readonly ms: number }> => {
    const [at, before] = [moment(), await total()]
    await work()
    return { ms: moment() - at, statements: (await total()) - before }
  }
  await sleep(QUIET_MS / 5)
  const idle = await spent(() => sleep(QUIET_MS))
  const quiet = idle.statements / idle.ms
  return {
    quiet,
    count: async (work) => {
      const { statements, ms } = await spent(work)
      return statements - ms * quiet
    },
  }
}

const statementsOf = async ({ metricsUrl }: Pick<ApiProcess, 'metricsUrl'>): Promise<number> => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const counts = text.matchAll(/^hyperfleet_db_query_duration_seconds_count\{.*\} (\d+)$/gm)
  return counts.reduce((sum, [, value]) => sum + Number(value), 0)
}
