/** The bundled API on a database of its own, and the load that asks it. */
import pg from 'pg'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startPostgres } from '#test/harness/index.ts'
import { type ApiProcess, type Start, startApiProcess } from '../program.ts'
import { databaseCpu } from './database-cpu.ts'
import { type Load, openLoad } from './load.ts'

type ProcessOptions = Pick<Start, 'env' | 'nodeFlags' | 'prefix'>

export interface Ground extends AsyncDisposable {
  readonly server: ApiProcess
  readonly load: Load
  /** Does at once what the database does in the background after many writes. */
  vacuum(): Promise<void>
}

/** @param options of the API's process */
export const onPostgres = async (options: ProcessOptions = {}): Promise<Ground & { readonly client: pg.Client }> => {
  await using stack = new AsyncDisposableStack()
  const folder = await temporaryFolder('bench-api')
  const postgres = stack.use(await startPostgres())
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  stack.defer(() => client.end())
  const server = stack.use(await startApiProcess(folder, postgres.url, options))
  const load = openLoad(server.url, { api: () => server.usage().cpuMs, database: databaseCpu(client) })
  stack.defer(() => load.close())
  const vacuum = async () => void (await client.query('vacuum analyze'))
  return { server, load, vacuum, client, [Symbol.asyncDispose]: leave(stack.move()) }
}

/** The embedded database: its work is the API's. */
export const onSqlite = async (): Promise<Ground> => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startApiProcess(await temporaryFolder('bench-api')))
  const load = openLoad(server.url, { api: () => server.usage().cpuMs })
  stack.defer(() => load.close())
  return { server, load, vacuum: async () => {}, [Symbol.asyncDispose]: leave(stack.move()) }
}

const leave = (stack: AsyncDisposableStack) => () => stack.disposeAsync()
