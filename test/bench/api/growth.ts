import type { Bench, BenchContext } from '../definition.ts'
import type { Figure } from '../report/row.ts'
import { fanOut } from './fan-out.ts'
import { createFleet } from './fleet.ts'
import { type Ground, onPostgres, onSqlite } from './ground.ts'
import { figuresOf, OPERATIONS } from './operations.ts'

const SIZES = [1_000, 10_000, 50_000, 100_000] as const
/** What costs less than so many times as much with the most clusters as with the fewest does not grow with them. */
const GROWS = 2

const GROUNDS = { PostgreSQL: onPostgres, SQLite: onSqlite } as const

/** How the same requests fare as the fleet grows, on both databases. */
export const apiGrowth: Bench = {
  name: 'api-growth',
  summary: `The same requests and watch streams with ${SIZES.map((size) => size.toLocaleString('en')).join(', ')} clusters, on PostgreSQL and on SQLite.`,
  run: async (context) => {
    const figures: Figure[] = []
    for (const [database, open] of Object.entries(GROUNDS)) {
      await using ground = await open()
      figures.push(...(await grown(ground, database, context)))
    }
    context.note('Clusters that the measured creations add count with the next size.')
    return figures
  },
}

const grown = async (ground: Ground, database: string, context: BenchContext): Promise<readonly Figure[]> => {
  const { load, server } = ground
  const fleet = createFleet(load, context)
  const figures: Figure[] = []
  const costs = new Map<string, number[]>()
  const sizes = SIZES.map(context.sized)
  for (const size of sizes) {
    await fleet.growTo(size)
    await ground.vacuum()
    const where = `${database}, ${size.toLocaleString('en')} clusters`
    for (const operation of OPERATIONS) {
      const figure = await load.measure((n) => operation.call(n, fleet))
      context.say(`${where}, ${operation.name}: ${figure.rate.toFixed(0)}/s`)
      figures.push(...figuresOf(`${where}, ${operation.name}`, figure))
      const cost = figure.apiCpuMs + (figure.databaseCpuMs ?? 0)
      costs.set(operation.name, [...(costs.get(operation.name) ?? []), cost])
    }
    for (const figure of await fanOut(ground, fleet)) figures.push({ ...figure, name: `${where}, ${figure.name}` })
    figures.push({ name: `${where}, peak RSS`, unit: 'MiB', value: server.usage().peakRssMiB })
  }
  context.note(`${database}: ${describeGrowth(sizes, costs)}`)
  return figures
}

/** Names the requests whose CPU grows with the clusters. @param costs by request, in the order of the sizes, of the API and the database together */
export const describeGrowth = (sizes: readonly number[], costs: ReadonlyMap<string, readonly number[]>): string => {
  const growing = [...costs].flatMap(([name, [first = 0, ...others]]) => {
    const times = (others.at(-1) ?? first) / first
    return times < GROWS ? [] : `${name} ${times.toFixed(1)} times`
  })
  const range = `from ${sizes[0]?.toLocaleString('en')} to ${sizes.at(-1)?.toLocaleString('en')} clusters`
  return growing.length === 0
    ? `${range} no request takes ${GROWS} times the CPU.`
    : `${range} these take more CPU: ${growing.join(', ')}.`
}
