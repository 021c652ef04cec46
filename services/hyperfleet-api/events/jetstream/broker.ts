import { setTimeout as delay } from 'node:timers/promises'
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { AuthorizationError, connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { EVENT_STREAM, EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { isWithoutRoom } from '#lib/nats/limits.ts'
import { reconnectAfter } from '#lib/nats/reconnect.ts'
import { readCredentials, tlsOptions } from '#lib/nats/security.ts'
import { isServerTooOld, MIN_SERVER_VERSION } from '#lib/nats/server-version.ts'
import { serverOf, withoutCredentials } from '#lib/nats/url.ts'
import type { Logger } from '#operator/model/log.ts'
import { Problem } from '../../problems/problem.ts'
import { BrokerError } from './broker-error.ts'

const HOUR_MS = 3_600_000
/** Room for some 400,000 events, kept for them beside the buckets of a fleet; older ones go first. API-120. */
const STREAM_MAX_BYTES = 384 * 2 ** 20
/** How long JetStream keeps an event. */
const STREAM_MAX_AGE_MS = 72 * HOUR_MS
/** How long JetStream recognises a repetition: longer than any crash and restart of this process takes. */
const DUPLICATE_WINDOW_MS = HOUR_MS
/** Milliseconds between attempts to reach a NATS that is away. */
const RECONNECT_DELAY_MS = 500

/** A connection to NATS that may come and go; what is asked while it is away waits in the database. */
export interface Broker {
  /** The connection while NATS answers and the stream is there. @throws Problem unavailable */
  connected(): BrokerConnection
  /** Why it can't be reached now, in a sentence. */
  readonly unavailableReason: string | undefined
  /** Calls back each time it can be reached again. The connection outlives its breaks, and so do subscriptions. */
  onConnected(listener: () => void): void
  /** Something said that the stream is gone: makes it anew. */
  ensureStream(): Promise<void>
  close(): Promise<void>
}

export interface BrokerConnection {
  readonly connection: NatsConnection
  readonly stream: JetStreamClient
  readonly manager: JetStreamManager
  /** Aborted when the connection breaks. */
  readonly lost: AbortSignal
}

type Client = Omit<BrokerConnection, 'lost'>

/** A NATS server, and how it is spoken to. Files are read again for each connection. */
export interface NatsServer {
  /** `nats://…` or `tls://…` */
  readonly url: string
  /** A file with the seed of a user's key, or a `.creds` file; without one what the URL says. */
  readonly credentials?: string | undefined
  /** A file with the certificates of the authorities that the server's is of, PEM; those of the machine when undefined. */
  readonly ca?: string | undefined
}

export interface BrokerOptions extends NatsServer {
  readonly log: Logger
}

/** Connects, or goes on trying while NATS is away. @throws BrokerError for a NATS that is there and can't be used */
export const openBroker = async (options: BrokerOptions): Promise<Broker> => {
  const { log } = options
  const place = withoutCredentials(options.url)
  const unreachable = `NATS at ${place} does not answer: events wait in the database until it does`
  const listeners = new Set<() => void>()
  const stop = new AbortController()
  let current: BrokerConnection | undefined
  let unavailableReason: string | undefined = unreachable
  let connectionLost = new AbortController()

  const useConnection = async (client: Client): Promise<void> => {
    await ensureStream(client.manager)
    connectionLost = new AbortController()
    current = { ...client, lost: connectionLost.signal }
    unavailableReason = undefined
    for (const listener of listeners) listener()
  }
  const setUnavailable = (why: string) => {
    if (unavailableReason === undefined)
      log.warn('jetstream: NATS is away, events wait in the database', { nats: place })
    unavailableReason = why
    connectionLost.abort()
  }
  /** Follows one connection, which reconnects by itself. */
  const followStatus = async (client: Client): Promise<void> => {
    for await (const status of client.connection.status()) {
      if (status.type === 'disconnect') setUnavailable(unreachable)
      if (status.type === 'reconnect') {
        log.info('jetstream: NATS is back, events that wait are handed to it', { nats: place })
        await retryUntilStopped(() => useConnection(client), setUnavailable, stop.signal)
      }
    }
  }
  const connectFirst = async (): Promise<void> => {
    const client = await connectTo(options, place)
    try {
      await useConnection(client)
    } catch (error) {
      await client.connection.close()
      throw error
    }
    followStatus(client).catch((error: unknown) =>
      log.error('jetstream: the connection to NATS is not followed any more, restart the API', {
        error: messageOf(error),
      }),
    )
  }

  let connecting: Promise<void> | undefined
  try {
    await connectFirst()
  } catch (error) {
    if (error instanceof BrokerError) throw error
    log.warn('jetstream: NATS is away, events wait in the database', { nats: place, error: messageOf(error) })
    connecting = retryUntilStopped(connectFirst, setUnavailable, stop.signal)
  }
  return {
    get unavailableReason() {
      return unavailableReason
    },
    connected: () => {
      if (current === undefined || unavailableReason !== undefined)
        throw new Problem('unavailable', 'NATS does not answer, try again: the events are safe')
      return current
    },
    onConnected: (listener) => {
      listeners.add(listener)
    },
    ensureStream: async () => {
      if (current !== undefined) await ensureStream(current.manager)
    },
    close: async () => {
      stop.abort()
      await connecting
      await current?.connection.close()
    },
  }
}

/** NATS' own errors are the caller's 503. @throws Problem unavailable, and those of the work */
export const asUnavailable = async <T>(work: () => Promise<T>, log: Logger): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Problem) throw error
    log.warn('jetstream: NATS refused a request, the caller is told to try again', { error: messageOf(error) })
    throw new Problem('unavailable', 'NATS does not do what it was asked, try again: the events are safe')
  }
}

/** Does it until it works. What a person has to correct is said in `trouble`; it may work after all once they did. */
const retryUntilStopped = async (
  work: () => Promise<void>,
  lose: (why: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof BrokerError) lose(error.message)
      await delay(RECONNECT_DELAY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

const connectTo = async ({ url, credentials, ca }: NatsServer, place: string): Promise<Client> => {
  const authenticator = await readCredentials(credentials).catch((error: unknown) => {
    throw new BrokerError(`the credentials can't be read: ${messageOf(error)}`, { cause: error })
  })
  const connection = await connect({
    ...serverOf(url),
    ...tlsOptions(url, ca),
    ...(authenticator !== undefined && { authenticator }),
    name: 'muster-api',
    maxReconnectAttempts: -1,
    ...reconnectAfter(RECONNECT_DELAY_MS),
    // Users come and go with a server's configuration: refused twice in a row, the connection would be closed for good.
    ignoreAuthErrorAbort: true,
  }).catch((error: unknown) => {
    if (error instanceof AuthorizationError)
      throw new BrokerError(
        `NATS at ${place} refuses the user: correct ${credentials ?? 'the credentials in its URL'}`,
        {
          cause: error,
        },
      )
    throw error
  })
  try {
    checkServerVersion(connection.info?.version ?? '0')
    const manager = await jetstreamManager(connection).catch((error: unknown) => {
      throw new BrokerError('NATS runs without JetStream, start it with -js', { cause: error })
    })
    return { connection, manager, stream: jetstream(connection) }
  } catch (error) {
    await connection.close()
    throw error
  }
}

const checkServerVersion = (version: string): void => {
  if (isServerTooOld(version)) throw new BrokerError(`NATS ${version} is too old, run ${MIN_SERVER_VERSION} or newer`)
}

/** Makes the stream when it is missing; one that is there keeps its operator's settings. */
const ensureStream = async ({ streams }: JetStreamManager): Promise<void> => {
  try {
    await streams.info(EVENT_STREAM)
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)) throw error
    await streams
      .add({
        name: EVENT_STREAM,
        subjects: [`${EVENT_SUBJECTS}.>`],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        max_age: nanos(STREAM_MAX_AGE_MS),
        max_bytes: STREAM_MAX_BYTES,
        duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      })
      .catch((refusal: unknown) => {
        if (!isWithoutRoom(refusal)) throw refusal
        const problem = `NATS has no room for the stream ${EVENT_STREAM}, which may hold ${STREAM_MAX_BYTES} bytes: raise max_file_store of JetStream, or make the stream with a limit of your own`
        throw new BrokerError(problem, { cause: refusal })
      })
  }
}
