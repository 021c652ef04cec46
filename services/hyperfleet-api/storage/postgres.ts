import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { beginOnConnection } from './begin-on-connection.ts'
import { followServers, type PostgresServers, probeServer } from './postgres-servers.ts'
import { type ByteReader, createSharingSocket, splitRows } from './row-bytes.ts'
import { sinkOf } from './sql-text.ts'
import { createStatementNames } from './statement-names.ts'

const { builtins } = pg.types

/** Most connections a process opens. */
const MAX_CONNECTIONS = 20
/** Two ends that share a busy machine take seconds for it. */
const CONNECT_TIMEOUT_MS = 10_000
/** A caller that comes every half minute finds the connection that it had; in milliseconds. */
const IDLE_CONNECTION_MS = 60_000
/** A statement that runs longer is a bug or a broken database; in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000

/** An idle connection whose server vanished without a word is noticed soon after, and not after the system's two hours; in milliseconds. */
const KEEP_ALIVE_DELAY_MS = 5_000
/** A transaction that is not continued, of a process that hangs or is cut off, holds its locks no longer. */
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000

/** A pool on PostgreSQL whose numbers are numbers and whose JSON stays text, and Kysely's way to it. */
export const openPostgres = (
  url: string,
  onError: (error: Error) => void,
): { readonly pool: pg.Pool; readonly dialect: PostgresDialect } => {
  const servers = followServers(probeServer(url))
  const pool = new pg.Pool({
    Client: ByteClient,
    stream: createSharingSocket,
    connectionString: url,
    // Its types know of no promise; it is waited for.
    onConnect: (async (client: pg.ClientBase) => {
      await servers.identify(client, CONNECT_TIMEOUT_MS)
      await servers.follow(client, () => beginOnConnection(client))
    }) as (client: pg.ClientBase) => void,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    application_name: 'muster-api',
    types: {
      // Versions and counts stay far below 2^53, the driver's default of text would spread through the code.
      getTypeParser: (oid, format) =>
        oid === builtins.INT8 ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format as 'text'),
    },
  })
  // An idle connection that breaks is replaced by the pool; unheard, its error would end the process.
  pool.on('error', onError)
  // One that breaks between two statements of a transaction has no caller to tell: the next statement fails, which is enough.
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  return { pool, dialect: new PostgresDialect({ pool: adaptPool(pool, servers) }) }
}

class ByteClient extends pg.Client {
  readonly rows: ByteReader = splitRows(this)
}

/**
 * The pool, whose clients name the statements that come often: planning is a good part of what a small one costs; and which
 * gives up connections to a server that is gone.
 */
const adaptPool = (pool: pg.Pool, servers: PostgresServers): PostgresPool => {
  const names = createStatementNames()
  const evictionsSeen = new WeakMap<pg.PoolClient, number>()
  /** A connection forgets the plans of names that were given up, before it makes another. */
  const forgetEvicted = async (client: pg.PoolClient): Promise<void> => {
    const { evictions } = names
    if ((evictionsSeen.get(client) ?? 0) === evictions) return
    // What the driver knows to be prepared there; it tells no caller.
    const { parsedStatements } = (client as unknown as { connection: { parsedStatements: Record<string, string> } })
      .connection
    for (const name of Object.keys(parsedStatements).filter((known) => !names.isCurrent(known))) {
      await servers.follow(client, () => client.query(`deallocate ${name}`))
      delete parsedStatements[name]
    }
    evictionsSeen.set(client, evictions)
  }
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect()
      const query = async (text: string, values: readonly unknown[]) => {
        const name = values.length === 0 ? undefined : names.nameOf(text)
        if (name !== undefined) await forgetEvicted(client)
        const execute = () =>
          servers.follow(client, () => client.query({ text, values: [...values], ...(name !== undefined && { name }) }))
        const sink = sinkOf(values)
        return sink === undefined || !(client instanceof ByteClient) ? execute() : client.rows.read(sink, execute)
      }
      // Without cursors, which nothing here opens.
      return { query, release: (isBroken?: boolean) => client.release(isBroken) } as unknown as PostgresPoolClient
    },
    end: () => {
      servers.close()
      return pool.end()
    },
  }
}
