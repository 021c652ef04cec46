import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { detach } from '#lib/process/detach.ts'

/**
 * Which server each connection leads to. A failover moves an address to another server. Connections to the one before may
 * never hear of that: a host that vanishes sends no last word, and what was sent to it stays unanswered for a quarter of an
 * hour. So when a statement is unanswered for a while a new connection is made, and where that leads to another server, all
 * connections to the one before are broken (API-97).
 *
 * A standby is not connected to: it may not have yet what was acknowledged (API-70).
 */
export interface PostgresServers {
  /**
   * To be called with every new connection before it is used.
   * @param timeoutMs that the server has to answer @throws Error with a code that `isReadOnly` knows, on a standby
   */
  identify(client: pg.ClientBase, timeoutMs: number): Promise<void>
  /** A statement on this connection. */
  follow<T>(client: pg.ClientBase, statement: () => Promise<T>): Promise<T>
  close(): void
}

/** With PostgreSQL's code of a server that takes no writes. */
const standbyError = (): Error => Object.assign(new Error('the server is a standby'), { code: '25006' })

/** Milliseconds without an answer after which it is asked whether the server is still the same, again and again. */
const SILENCE_MS = 2_000
/** Milliseconds that a new connection may take. */
const PROBE_TIMEOUT_MS = 3_000
/** So many new connections that fail, one after the other, mean that unanswered statements have no answer to come. */
const MAX_FAILED_PROBES = 3

/** In the place of a server's start time. */
const REFUSED = 'refused'

interface Identity {
  readonly isStandby: boolean
  readonly server: string
}

const readIdentity = async (client: pg.ClientBase, timeoutMs: number): Promise<Identity> => {
  const query = {
    text: `select pg_is_in_recovery() as "isStandby", extract(epoch from pg_postmaster_start_time())::text as server`,
    query_timeout: timeoutMs,
  }
  const { rows } = await client.query<Identity>(query)
  const [identity] = rows
  if (identity === undefined) throw new TypeError('a select without a table has one row')
  return identity
}

export const followServers = (url: string): PostgresServers => {
  const servers = new Map<pg.ClientBase, string>()
  /** When the statement of a connection that is longest under way was sent. */
  const waiting = new Map<pg.ClientBase, number>()
  let isProbing = false

  /** The server that a new connection leads to; REFUSED by one that answers and takes none at present. */
  const probe = async (): Promise<string | undefined> => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      application_name: 'muster-api',
    })
    client.on('error', () => {})
    try {
      await client.connect()
      const { server } = await readIdentity(client, PROBE_TIMEOUT_MS)
      client.end().catch(() => {})
      return server
    } catch (error) {
      breakConnection(client)
      return error instanceof pg.DatabaseError ? REFUSED : undefined
    }
  }
  const isSilent = (since: number): boolean => performance.now() - since >= SILENCE_MS
  const isAnySilent = (): boolean => waiting.values().some(isSilent)
  /** Goes on as long as a statement is unanswered. */
  const probeWhileSilent = async (): Promise<void> => {
    isProbing = true
    for (let failed = 0; isAnySilent(); await delay(SILENCE_MS / 2)) {
      const server = await probe()
      failed = server === undefined ? failed + 1 : 0
      if (server === REFUSED) continue
      for (const [client, its] of servers) {
        const isLost = failed >= MAX_FAILED_PROBES && isSilent(waiting.get(client) ?? Infinity)
        if (server === undefined ? isLost : its !== server) breakConnection(client)
      }
    }
    isProbing = false
  }
  const check = setInterval(() => {
    if (!isProbing && isAnySilent()) detach('asking which server PostgreSQL’s address leads to', probeWhileSilent())
  }, SILENCE_MS / 2).unref()
  return {
    identify: async (client, timeoutMs) => {
      const { isStandby, server } = await readIdentity(client, timeoutMs)
      if (isStandby) throw standbyError()
      servers.set(client, server)
      client.once('end', () => servers.delete(client))
    },
    follow: async (client, statement) => {
      waiting.set(client, performance.now())
      try {
        return await statement()
      } finally {
        waiting.delete(client)
      }
    },
    close: () => clearInterval(check),
  }
}

/** At once, without a word to the server: what waits for an answer on it fails. */
const breakConnection = (client: pg.ClientBase): void => {
  const { connection } = client as unknown as { readonly connection: { readonly stream: { destroy(): void } } }
  connection.stream.destroy()
}
