/** What the API server was asked, from its own metrics. */
import type { ApiServer } from '../load/client.ts'

/** Requests answered so far, by `verb resource`, e.g. 'PATCH gadgets'. */
export type Requests = ReadonlyMap<string, number>

const SERIES = /^apiserver_request_total\{(.*)\} (\S+)$/
const LABEL = /(\w+)="([^"]*)"/g

/** Sums apiserver_request_total by verb and resource. */
export const parseRequests = (metrics: string): Requests => {
  const requests = new Map<string, number>()
  for (const line of metrics.split('\n')) {
    const series = SERIES.exec(line)
    if (series === null) continue
    const labels = new Map([...(series[1] ?? '').matchAll(LABEL)].map(([, name, value]) => [name, value]))
    const key = `${labels.get('verb')} ${labels.get('resource')}`
    requests.set(key, (requests.get(key) ?? 0) + Number(series[2]))
  }
  return requests
}

/** Watches and leases are what a quiet operator may cost; everything else counts. */
const isAllowed = (key: string): boolean => key.startsWith('WATCH ') || key.endsWith(' leases')

/** Requests between two readings, without watches and leases, largest first. */
export const requestsBetween = (before: Requests, after: Requests): readonly (readonly [string, number])[] =>
  [...after]
    .map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const)
    .filter(([key, count]) => count > 0 && !isAllowed(key))
    .toSorted(([, a], [, b]) => b - a)

export const readRequests = async (server: ApiServer): Promise<Requests> => parseRequests(await server.text('/metrics'))
