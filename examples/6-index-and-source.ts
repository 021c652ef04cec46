// Prints how many ConfigMaps each team has, when that changes and every second; an index counts, no request is made.
import { controller, PRESENT } from 'muster/operator'
import { ConfigMap } from './kinds.ts'
import { run } from './run.ts'

const census = controller(ConfigMap, { name: 'census' })
const byTeam = census.index('team', ({ metadata }) => {
  const team = metadata.labels?.team
  return team === undefined ? [] : [[team, metadata.name] as const]
})
const printed = new Map<string, number>()

census.on.event('count', () => {
  for (const team of new Set([...byTeam.keys(), ...printed.keys()])) {
    const count = byTeam.get(team).length
    if (printed.get(team) !== count) console.log(`${team}: ${count}`)
    printed.set(team, count)
  }
})

// What is not in Kubernetes wakes objects through a source: here a clock wakes the ConfigMap `census`.
census.source('tick', async ({ wake, clock, signal }) => {
  const namespace = process.env.NAMESPACE ?? 'default'
  for (; !signal.aborted; await clock.sleep('1s', signal)) wake({ name: 'census', namespace })
})
census.reconcile(
  ({ patch }) => {
    const teams = [...byTeam.keys()].toSorted().map((team) => [team, String(byTeam.get(team).length)])
    patch.merge({ data: Object.fromEntries(teams) })
  },
  { annotations: { census: PRESENT } },
)

await run(census)
