import { setTimeout } from 'node:timers/promises'
import type { Bench, BenchContext } from '../definition.ts'
import type { Figure } from '../report/row.ts'
import { fanOut, SUBSCRIBERS } from './fan-out.ts'
import { createFleet } from './fleet.ts'
import { type Ground, onPostgres, onSqlite } from './ground.ts'
import { IN_FLIGHT, type Measured } from './load.ts'
import { figuresOf, OPERATIONS, type Operation, PEER, PEER_CPU } from './operations.ts'

const CLUSTERS = 20_000

/** Milliseconds from its start until what that left is collected: RUNTIME-81. */
const UNTIL_REST = 12_000

const measured = `with ${CLUSTERS.toLocaleString('en')} clusters of about 3 KB: throughput at ${IN_FLIGHT} requests in flight, CPU per request, memory, and a change's way to ${SUBSCRIBERS.toLocaleString('en')} watch streams.`

/** Against the peer, which knows PostgreSQL only. */
export const api: Bench = {
  name: 'api',
  summary: `The bundled HyperFleet API on PostgreSQL ${measured}`,
  run: async (context) => {
    await using ground = await onPostgres()
    context.note(`${PEER}, on another machine: its ratios are a hint, not a comparison.`)
    context.note('The load comes from the same two cores. PostgreSQL forces every commit to the disk (fsync).')
    return await measure(ground, context, withPeer)
  },
}

export const apiEmbedded: Bench = {
  name: 'api-embedded',
  summary: `The bundled HyperFleet API on its embedded SQLite ${measured}`,
  run: async (context) => {
    await using ground = await onSqlite()
    context.note('The load comes from the same two cores. SQLite forces every commit to the disk.')
    return await measure(ground, context, alone)
  },
}

/** @param toFigures of an operation, with what it is held against */
const measure = async (
  ground: Ground,
  context: BenchContext,
  toFigures: (operation: Operation, measured: Measured) => Figure[],
): Promise<readonly Figure[]> => {
  const { load, server } = ground
  await setTimeout(UNTIL_REST)
  const atRest = server.usage().rssMiB
  const fleet = createFleet(load, context)
  await fleet.growTo(context.sized(CLUSTERS))
  await ground.vacuum()
  const figures: Figure[] = [
    { name: 'RSS at rest, empty', unit: 'MiB', value: atRest, target: { of: 'value', atMost: 70 } },
  ]
  for (const operation of OPERATIONS) {
    const figure = await load.measure((n) => operation.call(n, fleet))
    context.say(`${operation.name}: ${figure.rate.toFixed(0)}/s`)
    figures.push(...toFigures(operation, figure))
  }
  const { peakRssMiB } = server.usage()
  figures.push({
    name: 'peak RSS under this load',
    unit: 'MiB',
    value: peakRssMiB,
    target: { of: 'value', atMost: 128 },
  })
  return [...figures, ...(await fanOut(ground, fleet))]
}

const alone = ({ name }: Operation, measured: Measured): Figure[] => figuresOf(name, measured)

/** Throughput and CPU beside the peer's. */
const withPeer = ({ name, peer, target, cpu }: Operation, measured: Measured): Figure[] => {
  const rate: Partial<Figure> =
    peer === undefined
      ? {}
      : { peer: { name: PEER, value: peer }, ...(target !== undefined && { target: { of: 'ratio', atLeast: target } }) }
  const { apiCpuMs, databaseCpuMs = 0 } = measured
  const all: Figure = {
    name: `${name}: CPU in all`,
    unit: 'ms/request',
    value: apiCpuMs + databaseCpuMs,
    peer: { name: PEER_CPU, value: cpu.peer },
    target: { of: 'value', atMost: cpu.atMost },
  }
  return [...figuresOf(name, measured, rate, cpu.ofDatabase), all]
}
