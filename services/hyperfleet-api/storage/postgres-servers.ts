import pg from 'pg'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic, systemClock } from '#operator/model/clock.ts'

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
/** Milliseconds between looks for statements without an answer. */
const CHECK_INTERVAL_MS = 500
/** Milliseconds that a new connection may take, with what it is asked. */
const PROBE_TIMEOUT_MS = 3_000
/** Milliseconds from one new connection to the next at least, also when they fail at once. */
const PROBE_INTERVAL_MS = 1_000
/**
 * So many new connections that fail, one after the other and while nothing else is answered, mean that unanswered statements
 * have no answer to come. That is at most SILENCE_MS + CHECK_INTERVAL_MS + 3 × PROBE_TIMEOUT_MS after they were sent: 11.5 s.
 */
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

/**
 * Asks over a new connection which server it leads to.
 * @param onAnswer called when there is a server, before it says which @param signal ends the attempt
 * @returns REFUSED by one that answers and takes none at present; undefined when there is no answer
 */
export type Probe = (onAnswer: () => void, signal: AbortSignal) => Promise<string | undefined>

export const probeServer =
  (url: string): Probe =>
  async (onAnswer, signal) => {
    const client = new pg.Client({ connectionString: url, application_name: 'muster-api' })
    client.on('error', () => {})
    signal.addEventListener('abort', () => breakConnection(client))
    try {
      await client.connect()
      onAnswer()
      const { server } = await readIdentity(client, PROBE_TIMEOUT_MS)
      client.end().catch(() => {})
      return server
    } catch (error) {
      breakConnection(client)
      return error instanceof pg.DatabaseError ? REFUSED : undefined
    }
  }

export const followServers = (probe: Probe, clock: Clock = systemClock): PostgresServers => {
  const servers = new Map<pg.ClientBase, string>()
  /** When the statement of a connection that is longest under way was sent. */
  const waiting = new Map<pg.ClientBase, number>()
  let isProbing = false
  let failed = 0
  /** A server that is slow to take new connections and answers others is there. */
  const onAnswer = (): void => {
    failed = 0
  }
  const isSilent = (since: number): boolean => monotonic(clock) - since >= SILENCE_MS
  const isAnySilent = (): boolean => waiting.values().some(isSilent)
  const probeOnce = async (): Promise<void> => {
    using limit = new AbortScope().within(PROBE_TIMEOUT_MS)
    const server = await probe(onAnswer, limit.signal)
    failed = server === undefined ? failed + 1 : 0
    if (server === REFUSED) return
    for (const [client, its] of servers) {
      const isLost = failed >= MAX_FAILED_PROBES && isSilent(waiting.get(client) ?? Infinity)
      if (server === undefined ? isLost : its !== server) breakConnection(client)
    }
  }
  /** Goes on as long as a statement is unanswered. */
  const probeWhileSilent = async (): Promise<void> => {
    isProbing = true
    failed = 0
    while (isAnySilent()) await Promise.all([probeOnce(), clock.sleep(PROBE_INTERVAL_MS)])
    isProbing = false
  }
  const check = setInterval(() => {
    if (!isProbing && isAnySilent()) detach('asking which server PostgreSQL’s address leads to', probeWhileSilent())
  }, CHECK_INTERVAL_MS).unref()
  return {
    identify: async (client, timeoutMs) => {
      const { isStandby, server } = await readIdentity(client, timeoutMs)
      if (isStandby) throw standbyError()
      servers.set(client, server)
      client.once('end', () => servers.delete(client))
    },
    follow: async (client, statement) => {
      waiting.set(client, monotonic(clock))
      try {
        const answer = await statement()
        onAnswer()
        return answer
      } catch (error) {
        if (error instanceof pg.DatabaseError) onAnswer()
        throw error
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
