import {
  JetStreamApiCodes,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { connect, headers, type NatsConnection, nanos } from '@nats-io/transport-node'
import type { Logger } from '#operator/model/log.ts'
import { POLL, type Wakeup } from '../feed/wakeup.ts'
import type { Entities } from '../model/entity.ts'
import { timestampOf } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'

/**
 * Hands events on to NATS JetStream from the table that they were committed to: what is in the database gets there, also
 * after a crash in between, and JetStream drops a repetition by its `Nats-Msg-Id`.
 */
export const STREAM = 'hyperfleet-events'

const SUBJECTS = 'hyperfleet.events'
const BATCH = 100
const HOUR = 3_600_000
/** How long JetStream keeps an event that nobody took. */
const KEEP = 72 * HOUR
/** How long JetStream recognises a repetition: longer than any crash and restart of this process takes. */
const REMEMBER = HOUR
/** Older servers accept per-message limits and then ignore them silently. */
const OLDEST_SERVER = [2, 11] as const

/** A NATS server that can't be used; the message says what to do. */
export class RelayError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RelayError'
  }
}

export interface RelayOptions {
  readonly url: string
  readonly database: Database
  readonly entities: Entities
  readonly wakeup: Wakeup
  readonly now: () => Date
  readonly log: Logger
}

/** Starts relaying. Returns how to stop. @throws RelayError */
export const startRelay = async (options: RelayOptions): Promise<() => Promise<void>> => {
  const { url, wakeup, log } = options
  const connection = await connectTo(url)
  let isClosed = false
  let isWanted = true
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    while (isWanted && !isClosed) {
      isWanted = false
      try {
        if ((await relayBatch(connection, options)) === BATCH) isWanted = true
      } catch (error) {
        // The next poll tries again: the events are safe in the database.
        log.warn('events were not handed to NATS, trying again', {
          error: error instanceof Error ? error.message : String(error),
        })
        return
      }
    }
  }
  const want = () => {
    isWanted = true
    running ??= run().finally(() => {
      running = undefined
    })
  }
  const stopListening = wakeup.onWake(want)
  const poll = setInterval(want, POLL)
  return async () => {
    isClosed = true
    clearInterval(poll)
    stopListening()
    await running
    await connection.close()
  }
}

/** Publishes the oldest events that JetStream doesn't have and notes that it does. @returns how many */
const relayBatch = async (connection: NatsConnection, { database, entities, now }: RelayOptions): Promise<number> => {
  const events = await database.kysely
    .selectFrom('events')
    .select(['sequence', 'id', 'kind', 'document'])
    .where('relayed_time', 'is', null)
    .orderBy('sequence')
    .limit(BATCH)
    .execute()
  if (events.length === 0) return 0
  const stream = jetstream(connection)
  const contentType = headers()
  contentType.set('Content-Type', 'application/cloudevents+json')
  await Promise.all(
    events.map(({ id, kind, document }) =>
      stream.publish(`${SUBJECTS}.${entities.byKind(kind)?.plural ?? kind.toLowerCase()}`, document, {
        msgID: id,
        headers: contentType,
      }),
    ),
  )
  const time = timestampOf(now())
  const sequences = events.map(({ sequence }) => sequence)
  await database.transaction(async (writer) => {
    await writer.updateTable('events').set({ relayed_time: time }).where('sequence', 'in', sequences).execute()
    // What JetStream has may be with a consumer by now, so an equal request is a new event.
    await writer
      .updateTable('events')
      .set({ taken_time: time })
      .where('sequence', 'in', sequences)
      .where('taken_time', 'is', null)
      .execute()
  })
  return events.length
}

const connectTo = async (url: string): Promise<NatsConnection> => {
  const connection = await connect({ servers: url, name: 'muster-api', maxReconnectAttempts: -1 }).catch(
    (error: unknown) => {
      throw new RelayError(`NATS at ${withoutCredentials(url)} can't be reached: start it, or leave its URL away`, {
        cause: error,
      })
    },
  )
  try {
    refuseOld(connection.info?.version ?? '0')
    await ensureStream(connection)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

const refuseOld = (version: string): void => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_SERVER
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  throw new RelayError(`NATS ${version} is too old, run ${OLDEST_SERVER.join('.')} or newer`)
}

/** Makes the stream when it is missing; one that is there keeps its operator's settings. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection).catch((error: unknown) => {
    throw new RelayError('NATS runs without JetStream, start it with -js', { cause: error })
  })
  try {
    await streams.info(STREAM)
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)) throw error
    await streams.add({
      name: STREAM,
      subjects: [`${SUBJECTS}.>`],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      max_age: nanos(KEEP),
      duplicate_window: nanos(REMEMBER),
    })
  }
}

const withoutCredentials = (url: string): string => url.replace(/\/\/[^@/]*@/, '//')
