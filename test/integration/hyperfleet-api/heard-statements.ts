import type pg from 'pg'
import { onTestFinished } from 'vitest'
import { silent } from '#operator/model/log.ts'
import { defineEntities } from '#services/hyperfleet-api/model/entity.ts'
import { createIdGenerator } from '#services/hyperfleet-api/model/id-generator.ts'
import type { Report, ReportedStatus } from '#services/hyperfleet-api/model/resource.ts'
import { timestampOf } from '#services/hyperfleet-api/model/timestamp.ts'
import type { MutationContext } from '#services/hyperfleet-api/mutations/context.ts'
import { createResource } from '#services/hyperfleet-api/mutations/create.ts'
import { patchResource } from '#services/hyperfleet-api/mutations/patch.ts'
import { reportStatus } from '#services/hyperfleet-api/mutations/report.ts'
import { openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { readDocument } from '#services/hyperfleet-api/storage/resources.ts'
import { freshPostgres } from './support.ts'

const entities = defineEntities([{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns', 'validation'] }])

export interface HeardStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Answers that PostgreSQL has sent and the program has not got. */
export interface HeldAnswers {
  count(): number
  /** The program gets them, and those that come later at once. */
  release(): void
}

/** Every statement that goes over a connection of the pool from now on; answers can be held. */
const listen = (pool: pg.Pool) => {
  const statements: HeardStatement[] = []
  let holds: ((text: string) => Promise<void>)[] = []
  const pass = async (statement: HeardStatement, answer: Promise<unknown>): Promise<unknown> => {
    await Promise.allSettled([answer])
    await Promise.all(holds.map((hold) => hold(statement.text)))
    return answer
  }
  const heard = new WeakSet<pg.PoolClient>()
  pool.on('acquire', (client) => {
    if (heard.has(client)) return
    heard.add(client)
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    Object.assign(client, {
      query: (...given: unknown[]) => {
        const [first] = given
        const statement = typeof first === 'string' ? { text: first, values: [] } : (first as HeardStatement)
        statements.push(statement)
        const answer = query(...given)
        return answer instanceof Promise ? pass(statement, answer) : answer
      },
    })
  })
  const holdAnswers = (sql: RegExp): HeldAnswers => {
    const released = Promise.withResolvers<void>()
    let held = 0
    const hold = async (text: string) => {
      if (!sql.test(text)) return
      held += 1
      await released.promise
    }
    holds.push(hold)
    const release = () => {
      holds = holds.filter((other) => other !== hold)
      held = 0
      released.resolve()
    }
    return { count: () => held, release }
  }
  return { statements, holdAnswers }
}

/** Clusters on a PostgreSQL of their own, and what is sent there. */
export const begin = async () => {
  const database = await openDatabase({ ...(await freshPostgres()), onError: () => {} })
  onTestFinished(() => database.close())
  const entity = entities.byPlural('clusters')
  if (entity === undefined || database.pool === undefined) throw new Error('there are clusters, on PostgreSQL')
  let second = 0
  const now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const specs = { check: () => {} } as unknown as MutationContext['specs']
  const mutations = {
    database,
    entities,
    specs,
    newId: createIdGenerator(now),
    now,
    notifyCommitted: () => {},
    log: silent,
  }
  const time = () => {
    second += 1
    return timestampOf(now())
  }
  const caller = () => ({ identity: 'me', time: time() })
  const create = (name: string) =>
    createResource(mutations, entity, undefined, { name, labels: { region: 'eu' }, spec: {} }, caller())
  const address = { entity, id: (await create('one')).id }
  const report = (adapter: string, available: ReportedStatus = 'True', more: Partial<Report> = {}) => {
    const at = time()
    return reportStatus(mutations, {
      address,
      time: at,
      report: {
        adapter,
        observed_generation: 1,
        observed_time: at,
        conditions: [
          { type: 'Available', status: available },
          { type: 'Applied', status: 'True' },
          { type: 'Health', status: 'True' },
        ],
        data: {},
        ...more,
      },
    })
  }
  const { statements, holdAnswers } = listen(database.pool)
  /** How many statements the work takes, the same the second time as the first. */
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    statements.length = 0
    await work()
    return statements.length
  }
  return {
    database,
    mutations,
    address,
    statements,
    holdAnswers,
    costOf,
    create,
    report,
    read: () => readDocument(database.kysely, address),
    patch: (spec: Record<string, unknown>) => patchResource(mutations, address, { spec }, caller()),
  }
}
