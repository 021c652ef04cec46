import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { start } from '#services/hyperfleet-api/start.ts'
import { type Database, openDatabase } from '#services/hyperfleet-api/storage/database.ts'
import { tenants } from '../tenant-rules.ts'
import { events } from './events.ts'
import { entities, fillFleet, ROWS } from './fleet.ts'
import { lists, tenantLists } from './lists.ts'
import { type Growth, type Step, worldOf } from './step.ts'
import { tenantWrites, writes } from './writes.ts'

const LOCAL = { host: '127.0.0.1', port: 0 }
const steps: readonly Step[] = [...lists, ...writes, ...events]
const tenantSteps: readonly Step[] = [...tenantLists, ...tenantWrites]

export const START: Growth = {
  with: 'what is in deletion, which is looked at again, and on SQLite the changes that are kept',
  rows: 2 * ROWS,
}

/** What was heard in a step. */
export interface Heard<Statement> {
  readonly what: string
  readonly growth?: Growth | undefined
  readonly statements: readonly Statement[]
}

type Choice = { readonly databaseUrl: string } | { readonly dataDir: string }

export const fill = async (choice: Choice): Promise<void> => {
  const database = await openDatabase({ ...choice, onError: () => {} })
  await fillFleet(database)
  await database.close()
}

/** Asks everything of the catalogue, one after the other. @param take what was heard since it was called last */
export const askAll = async <Statement>(
  choice: Choice,
  take: () => readonly Statement[],
  database?: Database,
): Promise<Heard<Statement>[]> => {
  const heard: Heard<Statement>[] = []
  for (const [asked, more] of [
    [steps, {}],
    [tenantSteps, { tenants }],
  ] as const) {
    const own = { listen: LOCAL, metrics: LOCAL, health: LOCAL, log: silent, clock: systemClock, entities }
    const api = await start({ ...own, ...choice, ...more })
    heard.push({ what: 'the start', growth: START, statements: take() })
    try {
      for (const step of asked) {
        // The embedded database is one process's, and its plans are made once.
        const times = database === undefined ? 1 : (step.times ?? 1)
        for (let n = 0; n < times; n += 1) await step.run(worldOf(api, database))
        heard.push({ what: step.what, growth: step.growth, statements: take() })
      }
    } finally {
      await api.stop()
    }
    heard.push({ what: 'the end', statements: take() })
  }
  return heard
}
