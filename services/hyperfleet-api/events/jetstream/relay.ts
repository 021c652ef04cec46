import type { PubAck } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import { type Kysely, sql } from 'kysely'
import { EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { Logger } from '#operator/model/log.ts'
import { POLL_INTERVAL_MS, type Wakeup } from '../../feed/wakeup.ts'
import type { Entities } from '../../model/entity.ts'
import { timestampOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import type { Tables } from '../../storage/schema.ts'
import type { Broker, BrokerConnection } from './broker.ts'
import {
  buildMessages,
  CONSUMERS_HEADER,
  CONTENT_TYPE,
  type OutgoingMessage,
  SEQUENCE_HEADER,
  type UnrelayedEvent,
} from './message.ts'
import { readPlaces, resetRelay, withPlaces } from './places.ts'

export interface RelayOptions {
  readonly broker: Broker
  readonly database: Database
  readonly entities: Entities
  readonly wakeup: Wakeup
  /** Called when the stream took nothing: makes it anew when it is gone, and then also has what it had relayed again, in order. */
  readonly checkStream: () => Promise<unknown>
  readonly now: () => Date
  readonly log: Logger
}

const BATCH_SIZE = 100
/** Any fixed number: the lock under which one replica at a time relays, so that the others don't do the same work. */
const RELAY_LOCK = 7_233_003

/**
 * Hands events on to JetStream from the tables that they were committed to: what is in the database gets there, also
 * after a crash in between, and JetStream drops a repetition by its `Nats-Msg-Id`. Returns how to stop.
 */
export const startRelay = (options: RelayOptions): (() => Promise<void>) => {
  const { broker, wakeup, checkStream, log } = options
  let isClosed = false
  let isRequested = false
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    while (isRequested && !isClosed) {
      isRequested = false
      if (broker.unavailableReason !== undefined) return
      try {
        if ((await relayBatch(options)) === BATCH_SIZE) isRequested = true
      } catch (error) {
        // The next poll tries again: the events are safe in the database.
        log.warn('jetstream: events were not handed to NATS, trying again', { error: messageOf(error) })
        await checkStream()
        isRequested = false
        return
      }
    }
  }
  const requestRun = () => {
    isRequested = true
    running ??= run().finally(() => {
      running = undefined
      if (isRequested && !isClosed && broker.unavailableReason === undefined) requestRun()
    })
  }
  const stopListening = wakeup.onWake('events', requestRun)
  broker.onConnected(requestRun)
  const poll = setInterval(requestRun, POLL_INTERVAL_MS)
  requestRun()
  return async () => {
    isClosed = true
    clearInterval(poll)
    stopListening()
    await running
  }
}

/** Publishes the oldest events that JetStream lacks and notes where it has them. @returns how many; BATCH_SIZE when there are more */
const relayBatch = async ({ broker, database, entities, now }: RelayOptions): Promise<number> =>
  withRelayLock(database, async () => {
    const record = await readPlaces(database.kysely)
    const events = await readUnrelayed(database.kysely)
    if (events.length === 0) return 0
    const connected = broker.connected()
    // All are sent before the first is awaited, in order, so one subject has them in order.
    const placed = await Promise.all(
      events.flatMap((event) =>
        buildMessages(event, record.epoch).map(async (message) => ({
          event,
          message,
          place: await publish(connected, subjectOf(entities, event.kind), event.sequence, message),
        })),
      ),
    )
    // Places only grow. One that was given before is of another stream, made anew or restored from an earlier state.
    const isOtherStream = placed.some(({ place }) => !place.duplicate && place.seq <= record.newest)
    const present = isOtherStream ? { created: '', epoch: record.epoch + 1, newest: 0 } : record
    if (isOtherStream) await resetRelay(database, record)
    const time = timestampOf(now())
    await withPlaces(database, present, 'note', async (writer) => {
      for (const {
        event,
        message,
        place: { seq: place },
      } of placed) {
        if (message.isFirst)
          await writer
            .updateTable('events')
            .set({ relayed_time: time, stream_sequence: place })
            .where('sequence', '=', event.sequence)
            .execute()
        if (message.consumers.length > 0)
          await writer
            .updateTable('event_deliveries')
            .set({ stream_sequence: place })
            .where('event_sequence', '=', event.sequence)
            .where('consumer', 'in', message.consumers)
            .execute()
      }
      const newest = Math.max(present.newest, ...placed.map(({ place }) => place.seq))
      await writer.updateTable('event_stream').set({ newest }).execute()
    })
    return isOtherStream ? BATCH_SIZE : events.length
  })

/** The subject of a kind's events. */
export const subjectOf = (entities: Entities, kind: string): string =>
  `${EVENT_SUBJECTS}.${entities.byKind(kind)?.plural ?? kind.toLowerCase()}`

const publish = async (
  { stream }: BrokerConnection,
  subject: string,
  sequence: number,
  { id, body, consumers }: OutgoingMessage,
): Promise<PubAck> => {
  const head = headers()
  head.set('Content-Type', CONTENT_TYPE)
  head.set(SEQUENCE_HEADER, String(sequence))
  head.set(CONSUMERS_HEADER, consumers.join(','))
  return stream.publish(subject, body, { msgID: id, headers: head })
}

const readUnrelayed = async (kysely: Kysely<Tables>): Promise<UnrelayedEvent[]> => {
  const unrelayed = kysely
    .selectFrom('events')
    .select('sequence')
    .where('relayed_time', 'is', null)
    .union((union) =>
      union
        .selectFrom('event_deliveries')
        .select('event_sequence as sequence')
        .where('stream_sequence', 'is', null)
        .where('dead_time', 'is', null),
    )
    .orderBy('sequence')
    .limit(BATCH_SIZE)
  const events = await kysely
    .selectFrom('events')
    .select(['sequence', 'id', 'kind', 'document', 'relayed_time'])
    .where('sequence', 'in', unrelayed)
    .orderBy('sequence')
    .execute()
  if (events.length === 0) return []
  const groups = await kysely
    .selectFrom('event_deliveries')
    .select(['event_sequence', 'consumer', 'replays'])
    .where(
      'event_sequence',
      'in',
      events.map(({ sequence }) => sequence),
    )
    .where('stream_sequence', 'is', null)
    .where('dead_time', 'is', null)
    .orderBy('consumer')
    .execute()
  const bySequence = Map.groupBy(groups, ({ event_sequence }) => event_sequence)
  return events.map(({ relayed_time, ...event }) => ({
    ...event,
    isRelayed: relayed_time !== null,
    groups: bySequence.get(event.sequence) ?? [],
  }))
}

/** Does the work unless another replica is at it. */
const withRelayLock = async ({ dialect, kysely }: Database, work: () => Promise<number>): Promise<number> => {
  if (dialect === 'sqlite') return work()
  return kysely.transaction().execute(async (transaction) => {
    const { rows } = await sql<{
      got: boolean
    }>`select pg_try_advisory_xact_lock(${RELAY_LOCK}::bigint) as got`.execute(transaction)
    return rows[0]?.got === true ? work() : 0
  })
}
