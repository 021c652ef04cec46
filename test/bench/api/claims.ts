/** What claims that wait cost the database while resources are changed and events are posted: statements, not time. */
import type { Bench } from '../definition.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import type { Figure } from '../report/row.ts'
import { createFleet } from './fleet.ts'
import { type Ground, onPostgres } from './ground.ts'
import { type Call, IN_FLIGHT } from './load.ts'
import { statementMeter } from './statements.ts'

const GROUPS = 10
const CLAIMS_PER_GROUP = 10
const CLAIMS = GROUPS * CLAIMS_PER_GROUP
const CLUSTERS = 200
const REQUESTS = 1_000

export const apiClaims: Bench = {
  name: 'api-claims',
  summary: `The bundled HyperFleet API on PostgreSQL while ${CLAIMS} claims of ${GROUPS} consumer groups wait: statements per change and per event at ${IN_FLIGHT} requests in flight, without those that it sends when nothing happens.`,
  run: async (context) => {
    await using ground = await onPostgres()
    const fleet = createFleet(ground.load, context)
    await fleet.growTo(CLUSTERS)
    const change = (n: number): Call => ({
      method: 'PATCH',
      path: `/clusters/${fleet.at(n).id}`,
      body: { spec: { change: n, at: moment() } },
    })
    const event = (n: number): Call => ({
      method: 'POST',
      path: '/events',
      body: { resourceType: 'clusters', resourceId: fleet.at(n).id, reason: `Reason${n}` },
    })
    const figures = [...(await count(ground, 'no claim waits', { 'a change': change }))]
    for (const n of upTo(GROUPS))
      await ground.load.send({
        method: 'PUT',
        path: `/events/consumers/group-${n}`,
        // One group gets the events; the others' claims wait on.
        body: { resourceType: n === 0 ? 'clusters' : 'nodepools' },
      })
    const claims = holdClaims(ground)
    figures.push(...(await count(ground, `${CLAIMS} claims wait`, { 'a change': change, 'an event': event })))
    await claims.stop()
    return figures
  },
}

/** Claims that begin anew whenever one is answered, and acknowledge what they got. */
const holdClaims = ({ server }: Ground): { stop(): Promise<void> } => {
  const stop = new AbortController()
  const base = `${server.url}/api/hyperfleet/v1/events/consumers`
  const hold = async (group: number): Promise<void> => {
    while (!stop.signal.aborted) {
      const response = await fetch(`${base}/group-${group}/claims`, {
        method: 'POST',
        body: JSON.stringify({ max: 10, wait: '60s', visibility: '10m' }),
        signal: stop.signal,
      })
      const { items } = (await response.json()) as { readonly items: readonly { readonly receipt: string }[] }
      for (const { receipt } of items) await fetch(`${base}/group-${group}/claims/${receipt}`, { method: 'DELETE' })
    }
  }
  const running = upTo(CLAIMS).map((n) => hold(n % GROUPS).catch(() => undefined))
  return {
    stop: async () => {
      stop.abort()
      await Promise.all(running)
    },
  }
}

const count = async (
  { load, server }: Ground,
  state: string,
  requests: Readonly<Record<string, (n: number) => Call>>,
): Promise<Figure[]> => {
  const meter = await statementMeter([server])
  const figures: Figure[] = [{ name: `${state}, nothing happens`, unit: 'statements/s', value: meter.quiet * 1_000 }]
  for (const [name, call] of Object.entries(requests)) {
    const cpu = server.usage().cpuMs
    const statements = await meter.count(async () => {
      await inParallel(upTo(REQUESTS), IN_FLIGHT, (n) => load.send(call(n)))
    })
    figures.push(
      { name: `${state}, ${name}`, unit: 'statements', value: statements / REQUESTS },
      { name: `${state}, ${name}: CPU of the API`, unit: 'ms', value: (server.usage().cpuMs - cpu) / REQUESTS },
    )
  }
  return figures
}
