/** One replica of the API with as much as one is meant to hold. */
import { fanOut } from '../api/fan-out.ts'
import { createFleet, report } from '../api/fleet.ts'
import { onPostgres, type PostgresGround } from '../api/ground.ts'
import { type Call, IN_FLIGHT } from '../api/load.ts'
import { figuresOf, OPERATIONS, type Operation } from '../api/operations.ts'
import { type StatementMeter, statementMeter } from '../api/statements.ts'
import type { Bench, BenchContext } from '../definition.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import type { Figure } from '../report/row.ts'

const CLUSTERS = 100_000
const NODE_POOLS_EACH = 3
const STREAMS = 5_000
const ADAPTERS = 20
/** So many clusters have a report of each adapter: of all it would be two million reports. */
const REPORTED = 1_000

const pools = `${(CLUSTERS * NODE_POOLS_EACH).toLocaleString('en')} node pools`

export const scaleApi: Bench = {
  name: 'scale-api',
  summary: `One replica of the bundled HyperFleet API on PostgreSQL with ${CLUSTERS.toLocaleString('en')} clusters, ${pools}, ${ADAPTERS} adapters that report and ${STREAMS.toLocaleString('en')} watch streams: throughput at ${IN_FLIGHT} requests in flight, CPU and statements per request, memory.`,
  run: async (context) => {
    await using ground = await onPostgres()
    const { load, server } = ground
    const fleet = createFleet(load, context)
    const clusters = context.sized(CLUSTERS)
    await fleet.growTo(clusters)
    context.say(`creating ${clusters * NODE_POOLS_EACH} node pools`)
    await inParallel(upTo(clusters * NODE_POOLS_EACH), IN_FLIGHT, (n) =>
      load.send({ method: 'POST', path: `/clusters/${fleet.at(n).id}/nodepools`, body: nodePool(n) }),
    )
    const reported = Math.min(clusters, REPORTED)
    context.say(`${ADAPTERS} adapters report ${reported} clusters`)
    await inParallel(upTo(ADAPTERS * reported), IN_FLIGHT, (n) =>
      load.send({
        method: 'PUT',
        path: `/clusters/${fleet.at(n % reported).id}/statuses`,
        body: report(`adapter-${Math.floor(n / reported)}`, 0),
      }),
    )
    await ground.vacuum()
    const operations: readonly Omit<Operation, 'cpu'>[] = [
      ...OPERATIONS,
      {
        name: `status report beside those of ${ADAPTERS} adapters`,
        call: (n) => ({
          method: 'PUT',
          path: `/clusters/${fleet.at(n % reported).id}/statuses`,
          body: report(`adapter-${n % ADAPTERS}`, n),
        }),
      },
      {
        name: 'list of the node pools of a cluster',
        call: (n) => ({ method: 'GET', path: `/clusters/${fleet.at(n * 7).id}/nodepools` }),
      },
      { name: 'list of 100 node pools of all', call: () => ({ method: 'GET', path: '/nodepools?size=100' }) },
    ]
    const meter = await statementMeter([server])
    const figures: Figure[] = []
    for (const operation of operations)
      figures.push(...(await measured(ground, meter, context, operation.name, (n) => operation.call(n, fleet))))
    context.note(`${reported} clusters have a report of each of the ${ADAPTERS} adapters, the others of one.`)
    return [
      ...figures,
      { name: 'peak RSS under this load', unit: 'MiB', value: server.usage().peakRssMiB, target: LIMIT },
      ...(await fanOut(ground, fleet, context.sized(STREAMS))),
    ]
  },
}

/** Of the pod. */
const LIMIT = { of: 'value', atMost: 256 } as const

const nodePool = (n: number): object => ({
  name: `pool-${n}`,
  spec: { replicas: 3, instanceType: 'large', zones: ['a', 'b', 'c'] },
})

const measured = async (
  { load }: PostgresGround,
  meter: StatementMeter,
  { say }: BenchContext,
  name: string,
  call: (n: number) => Call,
): Promise<readonly Figure[]> => {
  let calls = 0
  let figures: readonly Figure[] = []
  const statements = await meter.count(async () => {
    const figure = await load.measure((n) => {
      calls += 1
      return call(n)
    })
    say(`${name}: ${figure.rate.toFixed(0)}/s`)
    figures = figuresOf(name, figure)
  })
  return [...figures, { name: `${name}: statements`, unit: '1/request', value: statements / calls }]
}
