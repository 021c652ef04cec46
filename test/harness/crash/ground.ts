import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import pg from 'pg'
import { findPostgres } from '#hack/postgres/find.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type MusterProcess, startMuster } from '../muster.ts'
import { postgresMissing, startPostgres } from '../servers.ts'
import { lightFuse } from './fuse.ts'
import { postgresProxy } from './postgres-proxy.ts'
import { BACKGROUND_VARIABLE, PLAN_VARIABLE, traceOf } from './sqlite-plan.ts'

/** A row of a table, as the database's driver gives it. */
export type Row = Readonly<Record<string, SQLOutputValue>>

/** A database that outlives the `muster api` on it. */
export interface Ground extends AsyncDisposable {
  /** Starts `muster api` on it; wait for its line "the HyperFleet API is serving". */
  start(args: readonly string[]): Promise<MusterProcess>
  /** From now on the process lives for this many more statements. */
  dieAfter(victim: MusterProcess, statements: number): Promise<void>
  /** Ends `dieAfter`. @returns the statements that counted since */
  disarm(): Promise<readonly string[]>
  /** Rows as they are in the database, read past the API. On SQLite no process may be running. */
  rows(sql: string): Promise<readonly Row[]>
}

const NOWHERE = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']

/** What `muster api` does by itself, told by the first statement of each transaction. */
const BACKGROUND = [
  // a new connection: which server it leads to, and whether it is another run of it
  'select pg_is_in_recovery\\(',
  'select num_nulls\\(to_regclass',
  'select run <> ',
  // what time it is
  'select\\s+extract\\(epoch from clock_timestamp',
  // feed: which history the database has, where it begins, what is new, and the newest version that nothing before can follow
  'select\\s+\\(select bool_and\\(',
  '(select \\* from \\()?select max\\(version\\) as floor',
  'select coalesce\\(\\(select max\\(version',
  'select max\\("version"\\)',
  'select "version" from "change_floor"',
  // deletions that may have nothing left to wait for, every minute
  'select "id", "kind" from "resources" where "deleted_time" is not null',
  'select "awaited_groups" from "resources" where "id" = ',
  'listen ',
  'notify ',
].join('|')

const sqliteGround = async (): Promise<Ground> => {
  const folder = await temporaryFolder('crash')
  const plan = join(folder, 'plan')
  return {
    start: (args) =>
      startMuster(['api', ...NOWHERE, `--data-dir=${folder}`, ...args], {
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${join(import.meta.dirname, 'sqlite-preload.ts')}`,
        [PLAN_VARIABLE]: plan,
        [BACKGROUND_VARIABLE]: `^(${BACKGROUND})`,
      }),
    dieAfter: async (_victim, statements) => {
      // Renamed, so that it is never read half-written.
      await writeFile(`${plan}.new`, String(statements))
      await rename(`${plan}.new`, plan)
    },
    disarm: async () => {
      await rm(plan, { force: true })
      const trace = await readFile(traceOf(plan), 'utf8').catch(() => '')
      await rm(traceOf(plan), { force: true })
      return trace
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as string)
    },
    rows: async (sql) => {
      const database = new DatabaseSync(join(folder, 'hyperfleet.sqlite'))
      try {
        return database.prepare(sql).all()
      } finally {
        database.close()
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

const postgresGround = async (): Promise<Ground> => {
  const postgres = await startPostgres()
  const proxy = await postgresProxy(postgres.url)
  let trace: string[] = []
  return {
    start: (args) => startMuster(['api', ...NOWHERE, `--database-url=${proxy.url}`, ...args]),
    dieAfter: async (victim, statements) => {
      const background = new RegExp(`^(${BACKGROUND})`, 'i')
      proxy.arm(lightFuse({ after: statements, background, counted: (sql) => trace.push(sql) }), () =>
        victim.signal('SIGKILL'),
      )
    },
    disarm: async () => {
      proxy.disarm()
      const counted = trace
      trace = []
      return counted
    },
    rows: async (sql) => {
      const client = new pg.Client({ connectionString: postgres.url })
      await client.connect()
      try {
        return (await client.query<Row>(sql)).rows
      } finally {
        await client.end()
      }
    },
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await postgres.stop()
    },
  }
}

/** Both databases, to describe the same kills on each. */
export const grounds: readonly {
  readonly name: string
  readonly skip: boolean
  readonly ground: () => Promise<Ground>
}[] = [
  { name: 'SQLite', skip: false, ground: sqliteGround },
  {
    name: `PostgreSQL${findPostgres() ? '' : ` (skipped: ${postgresMissing()})`}`,
    skip: findPostgres() === undefined,
    ground: postgresGround,
  },
]
