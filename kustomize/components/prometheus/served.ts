import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { createMetrics as adapterMetrics } from '#controllers/adapter/metrics.ts'
import { clusterDeployment } from '#controllers/clusterdeployment/index.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { createFleetMetrics as fleetMetrics } from '#controllers/fleet/metrics.ts'
import { createMetrics as sentinelMetrics } from '#controllers/sentinel/metrics.ts'
import { systemClock } from '#operator/index.ts'
import { runtimeMetrics } from '#operator/metrics.ts'

/** The labels of each series name. */
export type Served = ReadonlyMap<string, ReadonlySet<string>>

/** Registered by prom-client: what it does not show of a metric in its types. */
interface Registered {
  readonly name: string
  readonly type: string
  readonly labelNames: readonly string[]
}

const seriesOf = ({ name, type, labelNames }: Registered): [string, Set<string>][] =>
  type === 'histogram'
    ? [
        [`${name}_bucket`, new Set([...labelNames, 'le'])],
        [`${name}_sum`, new Set(labelNames)],
        [`${name}_count`, new Set(labelNames)],
      ]
    : [[name, new Set(labelNames)]]

/** A row of the table of docs/reference/metrics.md, which a test holds to what the API serves. */
const ROW = /^\| `(?<name>\w+)` \| (?<type>\w+) \|(?<labels>[^|]*)\|/gm

const ofTheApi = (): Registered[] => {
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
  return [...page.matchAll(ROW)].map(({ groups: { name = '', type = '', labels = '' } = {} }) => ({
    name,
    type,
    labelNames: ['component', 'version', ...[...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)],
  }))
}

/** Everything that a Prometheus finds at Muster: the managers' metrics, and the API's. */
export const served = (): Served => {
  const registry = new Registry()
  runtimeMetrics(registry)
  sentinelMetrics(registry)
  adapterMetrics(registry)
  fleetMetrics(registry)
  clusterPool({ clock: systemClock, registry })
  clusterDeployment({ clock: systemClock, registry, version: 'test', hyperfleetApiUrl: 'http://nowhere' })
  const managers = registry.getMetricsAsArray() as unknown as Registered[]
  return new Map([...managers, ...ofTheApi()].flatMap(seriesOf))
}

/** What an expression names that is not served, or groups and matches by a label that its series do not have; empty when all is well. */
export const unserved = (expression: string, known: Served): readonly string[] => {
  const names = expression.match(
    /\b(?:hyperfleet|muster|hive|controller_runtime|workqueue|leader_election|rest_client)_\w+/g,
  )
  if (names === null) return [`${expression} names no metric of Muster`]
  const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
  const matched = [...expression.matchAll(/(\w+)[=!]~?"/g)].map(([, label = '']) => label)
  const labels = [...grouped, ...matched].filter((label) => !SCRAPED.has(label))
  return names.flatMap((name) => {
    const own = known.get(name)
    if (own === undefined) return [`${name} is not served`]
    return labels.filter((label) => !own.has(label)).map((label) => `${name} has no label ${label}`)
  })
}

/** Labels that Prometheus adds when it scrapes. */
const SCRAPED: ReadonlySet<string> = new Set(['namespace', 'pod', 'instance', 'job'])
