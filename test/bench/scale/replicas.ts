/** Whether more replicas of the API on one PostgreSQL do more. */
import { availableParallelism } from 'node:os'
import { temporaryFolder } from '#hack/process/folder.ts'
import { createFleet } from '../api/fleet.ts'
import { onPostgres, type PostgresGround } from '../api/ground.ts'
import { type Call, IN_FLIGHT, type Load, type Measured, openLoad } from '../api/load.ts'
import { OPERATIONS } from '../api/operations.ts'
import { type StatementMeter, statementMeter } from '../api/statements.ts'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import { type ApiProcess, startApiProcess } from '../program.ts'
import type { Figure, Target } from '../report/row.ts'

const CLUSTERS = 20_000
const REPLICAS = 3
const MEASURED = ['status report', 'list of 20', 'get', 'create', 'patch']
/** Cores that three replicas, their database and their load can be busy on: fewer are shared by what would be faster. */
const CORES = 8
const FASTER: Target = { of: 'ratio', atLeast: 2.5 }
/** A replica asks nothing more because others are there. */
const AS_MANY: Target = { of: 'ratio', atMost: 1.05 }

interface Replica {
  readonly server: ApiProcess
  readonly load: Load
}

export const scaleReplicas: Bench = {
  name: 'scale-replicas',
  summary: `${REPLICAS} replicas of the bundled HyperFleet API on one PostgreSQL with ${CLUSTERS.toLocaleString('en')} clusters, each with ${IN_FLIGHT} requests in flight, beside one: throughput, CPU and statements per request of all together.`,
  run: async (context) => {
    await using ground = await onPostgres()
    await using stack = new AsyncDisposableStack()
    const fleet = createFleet(ground.load, context)
    await fleet.growTo(context.sized(CLUSTERS))
    await ground.vacuum()
    const operations = OPERATIONS.filter(({ name }) => MEASURED.includes(name))
    const measureAll = async (replicas: readonly Replica[]): Promise<ReadonlyMap<string, Together>> => {
      const meter = await statementMeter(replicas.map(({ server }) => server))
      const figures = new Map<string, Together>()
      for (const operation of operations) {
        const figure = await together(replicas, meter, (n) => operation.call(n, fleet))
        context.say(`${replicas.length}, ${operation.name}: ${figure.rate.toFixed(0)}/s`)
        figures.set(operation.name, figure)
      }
      return figures
    }
    const one = await measureAll([ground])
    const others: Replica[] = []
    for (const _ of upTo(REPLICAS - 1)) others.push(await startReplica(ground, stack))
    const all = await measureAll([ground, ...others])
    const cores = availableParallelism()
    context.note(
      cores < CORES
        ? `This machine has ${cores} cores, which the replicas, PostgreSQL and the load share: one replica keeps them busy, so ${REPLICAS} can't do more. This bench shows here that no request takes more statements or much more CPU.`
        : `This machine has ${cores} cores.`,
    )
    return [...all].flatMap(([name, figure]) => compared(name, figure, one.get(name), cores >= CORES))
  },
}

const startReplica = async (ground: PostgresGround, stack: AsyncDisposableStack): Promise<Replica> => {
  const server = stack.use(await startApiProcess(await temporaryFolder('bench-api'), ground.databaseUrl))
  const load = openLoad(server.url, { api: () => server.usage().cpuMs })
  stack.defer(() => load.close())
  return { server, load }
}

interface Together {
  /** Requests a second. */
  readonly rate: number
  /** Milliseconds a request, of all replicas and of PostgreSQL. */
  readonly cpuMs: number
  /** A request. */
  readonly statements: number
}

/** All replicas at the same time, each under a load of its own. The first one's knows what the database takes. */
const together = async (
  replicas: readonly Replica[],
  meter: StatementMeter,
  call: (n: number) => Call,
): Promise<Together> => {
  let calls = 0
  let measured: readonly Measured[] = []
  const statements = await meter.count(async () => {
    // Each counts for itself: together they ask about all.
    measured = await Promise.all(replicas.map(({ load }) => load.measure(() => call(calls++))))
  })
  const rate = measured.reduce((sum, one) => sum + one.rate, 0)
  return { rate, cpuMs: cpuOf(measured, rate), statements: statements / calls }
}

/** What the replicas took for a request on average, and PostgreSQL for one of all. */
const cpuOf = (measured: readonly Measured[], rate: number): number => {
  const api = measured.reduce((sum, one) => sum + one.apiCpuMs * one.rate, 0) / rate
  const database = measured.reduce((sum, one) => sum + (one.databaseCpuMs ?? 0) * one.rate, 0) / rate
  return api + database
}

const compared = (name: string, all: Together, one: Together | undefined, enoughCores: boolean): readonly Figure[] => {
  const peer = (value: number | undefined) => (value === undefined ? undefined : { name: 'one replica', value })
  return [
    { name, unit: 'requests/s', value: all.rate, peer: peer(one?.rate), ...(enoughCores && { target: FASTER }) },
    { name: `${name}: CPU in all`, unit: 'ms/request', value: all.cpuMs, peer: peer(one?.cpuMs) },
    {
      name: `${name}: statements`,
      unit: '1/request',
      value: all.statements,
      peer: peer(one?.statements),
      target: AS_MANY,
    },
  ]
}
