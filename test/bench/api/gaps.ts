/** What writers wait while gaps between the versions of changes are settled beside them: API-72. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { CHANGE_LOCK } from '#services/hyperfleet-api/storage/resource-write.ts'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import { median, percentile } from '../measure/statistics.ts'
import type { Figure } from '../report/row.ts'
import { createFleet, specOf } from './fleet.ts'
import { onPostgres, type PostgresGround } from './ground.ts'
import { type Call, IN_FLIGHT, type Measured } from './load.ts'
import { openWatchers } from './watchers.ts'

const CLUSTERS = 500
const ROUNDS = 3
/** Milliseconds between two transactions that take a version and undo it. */
const GAP_INTERVAL_MS = 10
/** Changes whose way to a stream is measured. */
const CHANGES = 20

/** As a writer of the API begins, which then commits, is undone, or hangs. */
const TAKE_VERSION = `select pg_advisory_xact_lock_shared(${CHANGE_LOCK}), nextval(pg_get_serial_sequence('changes', 'version'))`

const STEADY = 'nothing is undone'
const GAPS = 'gaps'
const HANGING = 'gaps and a transaction that hangs'

/** What goes on beside the writers, until it is disposed of. */
const CASES: Readonly<Record<string, (ground: PostgresGround) => AsyncDisposable>> = {
  [STEADY]: () => new AsyncDisposableStack(),
  [GAPS]: makeGaps,
  [HANGING]: (ground) => {
    const stack = new AsyncDisposableStack()
    stack.use(makeGaps(ground))
    stack.use(hang(ground))
    return stack
  },
}

export const apiGaps: Bench = {
  name: 'api-gaps',
  summary: `Writers at ${IN_FLIGHT} requests in flight (PATCH, ${CLUSTERS} clusters, PostgreSQL with fsync) while ${1_000 / GAP_INTERVAL_MS} transactions a second take a version and are undone, which a watch stream has to settle, and while one of them hangs; median of ${ROUNDS} rounds.`,
  run: async (context) => {
    await using ground = await onPostgres()
    const { load, server } = ground
    const fleet = createFleet(load, context)
    await fleet.growTo(CLUSTERS)
    const watchers = await openWatchers(server.url, '/clusters?watch=true&fields=labels', 1)
    const measured = new Map<string, Measured[]>()
    const told = new Map<string, number[]>()
    const change = (n: number): Call => ({
      method: 'PATCH',
      path: `/clusters/${fleet.at(n * 11).id}`,
      body: { spec: specOf(n), labels: { at: `${n}-${Date.now()}` } },
    })
    for (const round of upTo(ROUNDS)) {
      for (const [name, begin] of Object.entries(CASES)) {
        await using _beside = begin(ground)
        const one = await load.measure(change)
        context.say(`${name}: ${one.rate.toFixed(0)}/s, the longest took ${one.longest.toFixed(0)} ms`)
        measured.set(name, [...(measured.get(name) ?? []), one])
        // While a transaction hangs nothing is told: changes are told in order.
        if (name === HANGING) continue
        const took = told.get(name) ?? []
        told.set(name, took)
        for (const n of upTo(CHANGES)) {
          const mark = `mark-${round}-${name.length}-${n}`
          const call: Call = { method: 'PATCH', path: `/clusters/${fleet.at(n).id}`, body: { labels: { mark } } }
          took.push(await watchers.untilAllHave(`"${mark}"`, () => load.request(call)))
        }
      }
    }
    watchers.close()
    return figuresOf(measured, told)
  },
}

const figuresOf = (
  measured: ReadonlyMap<string, readonly Measured[]>,
  told: ReadonlyMap<string, readonly number[]>,
): Figure[] => {
  const of = (name: string, what: (one: Measured) => number) => median((measured.get(name) ?? []).map(what))
  const figures = [...measured.keys()].flatMap((name): Figure[] => {
    const beside = (what: (one: Measured) => number) => ({
      value: of(name, what),
      ...(name !== STEADY && { peer: { name: STEADY, value: of(STEADY, what) } }),
    })
    return [
      {
        name: `${name}: changes`,
        unit: 'requests/s',
        ...beside(({ rate }) => rate),
        ...(name !== STEADY && { target: { of: 'ratio', atLeast: 0.7 } }),
      },
      { name: `${name}: a change, p50`, unit: 'ms', ...beside(({ p50 }) => p50) },
      { name: `${name}: a change, p99`, unit: 'ms', ...beside(({ p99 }) => p99) },
      { name: `${name}: the longest change`, unit: 'ms', ...beside(({ longest }) => longest) },
    ]
  })
  const ways = [...told].map(([name, took]) => ({
    name: `${name}: a change to a watch stream, p50`,
    unit: 'ms',
    value: percentile(took, 0.5),
  }))
  return [...figures, ...ways]
}

const connect = async ({ databaseUrl }: PostgresGround): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return client
}

/** Versions that are taken and never come. */
function makeGaps(ground: PostgresGround): AsyncDisposable {
  const stop = new AbortController()
  const work = async () => {
    const client = await connect(ground)
    while (!stop.signal.aborted) {
      for (const statement of ['begin', TAKE_VERSION, 'rollback']) await client.query(statement)
      await sleep(GAP_INTERVAL_MS)
    }
    await client.end()
  }
  const working = work()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await working
    },
  }
}

/** A transaction that has taken a version and stays open, and is undone in the end. */
function hang(ground: PostgresGround): AsyncDisposable {
  const hanging = (async () => {
    const client = await connect(ground)
    for (const statement of ['begin', TAKE_VERSION]) await client.query(statement)
    return client
  })()
  return {
    async [Symbol.asyncDispose]() {
      await (await hanging).end()
    },
  }
}
