import type { Bench, BenchContext } from '../definition.ts'
import type { Figure } from '../report/row.ts'
import { fanOut } from './fan-out.ts'
import { createFleet } from './fleet.ts'
import { type Ground, onPostgres, onSqlite } from './ground.ts'
import { figuresOf, OPERATIONS } from './operations.ts'

const SIZES = [1_000, 10_000, 50_000] as const

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
  for (const size of SIZES) {
    await fleet.growTo(size)
    await ground.vacuum()
    const where = `${database}, ${size.toLocaleString('en')} clusters`
    for (const operation of OPERATIONS) {
      const figure = await load.measure((n) => operation.call(n, fleet))
      context.say(`${where}, ${operation.name}: ${figure.rate.toFixed(0)}/s`)
      figures.push(...figuresOf(`${where}, ${operation.name}`, figure))
    }
    for (const figure of await fanOut(ground, fleet)) figures.push({ ...figure, name: `${where}, ${figure.name}` })
    figures.push({ name: `${where}, peak RSS`, unit: 'MiB', value: server.usage().peakRssMiB })
  }
  return figures
}
