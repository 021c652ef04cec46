import pg from 'pg'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startPostgres } from '#test/harness/index.ts'
import type { Bench, BenchContext } from '../definition.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { percentile } from '../measure/statistics.ts'
import { startApiProcess } from '../program.ts'
import type { Figure } from '../report/row.ts'
import { databaseCpu } from './database-cpu.ts'
import { type Call, type Load, type Measured, openLoad } from './load.ts'
import { openWatchers } from './watchers.ts'

const CLUSTERS = 20_000
const REGIONS = 20
const IN_FLIGHT = 8
const SUBSCRIBERS = 1_000
const CHANGES = 20

/**
 * The Go peer is not to be had from the Go module proxy. These were measured elsewhere, on 20,000 clusters on PostgreSQL at 8
 * in flight (anchors: hyperfleet-api 4); a mark in the table says so.
 */
const PEER = 'hyperfleet-api (Go), measured elsewhere'

interface Operation {
  readonly name: string
  /** Requests a second of the peer. */
  readonly peer: number
  /** Ours, as a multiple of the peer's. */
  readonly target: number
  readonly call: (n: number, clusters: readonly Cluster[]) => Call
}

interface Cluster {
  readonly id: string
}

/** A spec of the size that a cluster has in the field, about 1.3 KB. */
const specOf = (n: number): object => ({
  release: `4.2${n % 10}.0`,
  region: { name: `region-${n % REGIONS}`, zones: ['a', 'b', 'c'] },
  networking: { pods: '10.128.0.0/14', services: '172.30.0.0/16', hostPrefix: 23 },
  note: 'x'.repeat(1_000),
})

const search = (text: string): string => `search=${encodeURIComponent(text)}`
const at = (clusters: readonly Cluster[], n: number): string => clusters[n % clusters.length]?.id ?? ''

const OPERATIONS: readonly Operation[] = [
  {
    name: 'status report',
    peer: 427,
    target: 2,
    call: (n, clusters) => ({
      method: 'PUT',
      path: `/clusters/${at(clusters, n * 7)}/statuses`,
      body: report('dns', n),
    }),
  },
  { name: 'list of 20', peer: 110, target: 5, call: () => ({ method: 'GET', path: '/clusters' }) },
  { name: 'list of 100', peer: 84, target: 5, call: () => ({ method: 'GET', path: '/clusters?size=100' }) },
  {
    name: 'label search, 100 of 1,000',
    peer: 17,
    target: 20,
    call: (n) => ({ method: 'GET', path: `/clusters?size=100&${search(`labels.region='region-${n % REGIONS}'`)}` }),
  },
  {
    name: 'condition search, 100 of some 200 not ready',
    peer: 17,
    target: 20,
    call: () => ({ method: 'GET', path: `/clusters?size=100&${search("status.conditions.Reconciled='False'")}` }),
  },
  {
    name: 'get',
    peer: 1_795,
    target: 1,
    call: (n, clusters) => ({ method: 'GET', path: `/clusters/${at(clusters, n * 13)}` }),
  },
  {
    name: 'create',
    peer: 1_022,
    target: 1,
    call: (n) => ({ method: 'POST', path: '/clusters', body: draft(CLUSTERS + n) }),
  },
  {
    name: 'patch',
    peer: 604,
    target: 1,
    call: (n, clusters) => ({
      method: 'PATCH',
      path: `/clusters/${at(clusters, n * 11)}`,
      body: { spec: specOf(n + 1) },
    }),
  },
]

const draft = (n: number): object => ({
  name: `c-${n}`,
  labels: { region: `region-${n % REGIONS}`, stage: n % 3 === 0 ? 'prod' : 'test' },
  spec: specOf(n),
})

const report = (adapter: string, n: number): object => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True', reason: `Seen${n % 2}` })),
})

export const api: Bench = {
  name: 'api',
  summary: `The bundled HyperFleet API on PostgreSQL with ${CLUSTERS.toLocaleString('en')} clusters of about 3 KB: throughput at ${IN_FLIGHT} requests in flight, CPU of the API and of PostgreSQL per request, memory, and a change's way to ${SUBSCRIBERS.toLocaleString('en')} watch streams.`,
  run: async (context) => {
    const folder = await temporaryFolder('bench-api')
    await using postgres = await startPostgres()
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await using server = await startApiProcess(folder, postgres.url)
    const database = databaseCpu(client)
    const load = openLoad(server.url, IN_FLIGHT, { api: () => server.usage().cpuMs, database })
    try {
      const clusters = await fill(load, context)
      await client.query('vacuum analyze')
      const figures: Figure[] = []
      for (const operation of OPERATIONS) {
        const measured = await load.measure((n) => operation.call(n, clusters))
        context.say(`${operation.name}: ${measured.rate.toFixed(0)}/s`)
        figures.push(...figuresOf(operation, measured))
      }
      figures.push({
        name: 'peak RSS under this load',
        unit: 'MiB',
        value: server.usage().peakRssMiB,
        target: { of: 'value', atMost: 128 },
      })
      const changes = await fannedOut(load, server.url, clusters)
      context.note(`${PEER}, on another machine: its ratios are a hint, not a comparison.`)
      context.note('The load comes from the same two cores. PostgreSQL writes nothing through to the disk.')
      return [
        ...figures,
        {
          name: `change to ${SUBSCRIBERS} streams, p50 of the last`,
          unit: 'ms',
          value: percentile(changes, 0.5),
          target: { of: 'value', atMost: 100 },
        },
        { name: `RSS with ${SUBSCRIBERS} streams`, unit: 'MiB', value: server.usage().rssMiB },
      ]
    } finally {
      await load.close()
      await client.end()
    }
  },
}

const figuresOf = ({ name, peer, target }: Operation, measured: Measured): Figure[] => [
  {
    name,
    unit: 'requests/s',
    value: measured.rate,
    peer: { name: PEER, value: peer },
    target: { of: 'ratio', atLeast: target },
  },
  { name: `${name}: p50`, unit: 'ms', value: measured.p50 },
  { name: `${name}: p99`, unit: 'ms', value: measured.p99 },
  { name: `${name}: CPU of the API`, unit: 'ms/request', value: measured.apiCpuMs },
  { name: `${name}: CPU of PostgreSQL`, unit: 'ms/request', value: measured.databaseCpuMs },
]

/** Makes the clusters; all but one in a hundred are reported ready. */
const fill = async (load: Load, { say }: BenchContext): Promise<readonly Cluster[]> => {
  say(`creating ${CLUSTERS} clusters`)
  const clusters = await inParallel(upTo(CLUSTERS), IN_FLIGHT, async (n) => {
    const { id } = (await load.request({ method: 'POST', path: '/clusters', body: draft(n) })) as Cluster
    return { id }
  })
  say('reporting them ready')
  await inParallel(upTo(CLUSTERS), IN_FLIGHT, async (n) => {
    if (n % 100 !== 0)
      await load.request({ method: 'PUT', path: `/clusters/${at(clusters, n)}/statuses`, body: report('dns', n) })
  })
  return clusters
}

const fannedOut = async (load: Load, url: string, clusters: readonly Cluster[]): Promise<readonly number[]> => {
  // The newest version is behind us: a stream from nothing would begin with everything there is.
  const { headers } = await fetch(`${url}/api/hyperfleet/v1/clusters?size=1`)
  const from = headers.get('muster-resource-version') ?? '0'
  const watchers = await openWatchers(url, `/clusters?watch=true&fields=labels&resourceVersion=${from}`, SUBSCRIBERS)
  try {
    const took: number[] = []
    for (const n of upTo(CHANGES)) {
      const mark = `change-${n}`
      const call: Call = { method: 'PATCH', path: `/clusters/${at(clusters, n)}`, body: { labels: { mark } } }
      took.push(await watchers.untilAllHave(`"${mark}"`, () => load.request(call)))
    }
    return took
  } finally {
    watchers.close()
  }
}
