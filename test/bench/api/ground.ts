/** The bundled API on a database of its own, and the load that asks it. */
import pg from 'pg'
import { FORCED_TO_DISK } from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startPostgres } from '#test/harness/index.ts'
import { type ApiProcess, type Start, startApiProcess } from '../program.ts'
import { databaseCpu } from './database-cpu.ts'
import { type Load, openLoad } from './load.ts'

type ProcessOptions = Pick<Start, 'env' | 'prefix'>

export interface Ground extends AsyncDisposable {
  readonly server: ApiProcess
  readonly load: Load
  /** Does at once what the database does in the background after many writes. */
  vacuum(): Promise<void>
}

/** With the database that it is on. */
export interface PostgresGround extends Ground {
  readonly databaseUrl: string
  readonly client: pg.Client
}

/** @param options of the API's process @param settings of PostgreSQL, which forces every commit to the disk unless they say otherwise */
export const onPostgres = async (
  options: ProcessOptions = {},
  settings: readonly string[] = FORCED_TO_DISK,
): Promise<PostgresGround> => {
  await using stack = new AsyncDisposableStack()
  const folder = await temporaryFolder('bench-api')
  const postgres = stack.use(await startPostgres(settings))
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  stack.defer(() => client.end())
  const server = stack.use(await startApiProcess(folder, postgres.url, options))
  const load = openLoad(server.url, { api: () => server.usage().cpuMs, database: databaseCpu(client) })
  stack.defer(() => load.close())
  const vacuum = async () => void (await client.query('vacuum analyze'))
  return { server, load, vacuum, databaseUrl: postgres.url, client, [Symbol.asyncDispose]: leave(stack.move()) }
}

/** The embedded database: its work is the API's. @param options of the API's process */
export const onSqlite = async (options: ProcessOptions = {}): Promise<Ground> => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startApiProcess(await temporaryFolder('bench-api'), undefined, options))
  const load = openLoad(server.url, { api: () => server.usage().cpuMs })
  stack.defer(() => load.close())
  return { server, load, vacuum: async () => {}, [Symbol.asyncDispose]: leave(stack.move()) }
}

const leave = (stack: AsyncDisposableStack) => () => stack.disposeAsync()
