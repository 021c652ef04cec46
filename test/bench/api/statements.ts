/** What the API asks of its database. */
import type { ApiProcess } from '../program.ts'

/** Statements that an API process has sent so far, each of them one round trip, by its own metrics. */
export const statementsOf = async ({ metricsUrl }: Pick<ApiProcess, 'metricsUrl'>): Promise<number> => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const counts = text.matchAll(/^hyperfleet_db_query_duration_seconds_count\{.*\} (\d+)$/gm)
  return counts.reduce((sum, [, value]) => sum + Number(value), 0)
}
