import { detach } from '#lib/process/detach.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Wakeup } from '../../feed/wakeup.ts'
import type { Entities } from '../../model/entity.ts'
import { timestampOf } from '../../model/timestamp.ts'
import { Problem } from '../../problems/problem.ts'
import type { Database } from '../../storage/database.ts'
import { sharedTime } from '../../storage/shared-time.ts'
import { consumerExists, readConsumer, removeConsumer, storeConsumer } from '../consumers.ts'
import { readDeadLetters, replayDeadLetter } from '../dead-letters.ts'
import { deleteDelivery, extendDelivery, rejectDelivery } from '../deliveries.ts'
import type { EventQueue, ReceivedEvent, ReceiveRequest } from '../queue.ts'
import { type BrokerConnection, openBroker, STREAM } from './broker.ts'
import { deleteDurable, ensureDurable } from './durable-consumers.ts'
import { lockPulled, type MessageOutcome, type PulledMessage } from './lock-pulled.ts'
import { SEQUENCE_HEADER } from './message.ts'
import { readPlaces, relayMissing, withPlaces } from './places.ts'
import { listDurables, readGroups, recordProgress, repairDurables } from './progress.ts'
import { ConsumerMissingError, type Pulled, pull } from './pull.ts'
import { startRelay, subjectOf } from './relay.ts'
import { followTerminations } from './termination-advisories.ts'

export interface JetStreamQueueOptions {
  readonly url: string
  readonly database: Database
  readonly entities: Entities
  readonly wakeup: Wakeup
  readonly clock: Clock
  readonly newId: () => string
  readonly log: Logger
}

/** Milliseconds before JetStream is asked again when it did not wait. */
const PULL_RETRY_DELAY_MS = 50
/** Milliseconds between looks at what clients did at JetStream itself. */
const PROGRESS_INTERVAL_MS = 10_000

/**
 * The queue whose groups are durable consumers on JetStream.
 *
 * A claim pulls messages and gives their rows a receipt; then it asks JetStream to deliver them again when the visibility
 * ends (`-NAK` with a delay), which an acknowledgement in time prevents. So no process has to watch over a claim, and any
 * replica can acknowledge what another one gave out. What JetStream delivers although the row is held, done or dead, is
 * answered from the row and not handed out.
 */
export const jetStreamQueue = async (options: JetStreamQueueOptions): Promise<EventQueue> => {
  const { url, database, entities, wakeup, clock, newId, log } = options
  const time = sharedTime(database, clock)
  const broker = await openBroker({ url, log })

  /** What could not be told while NATS was away, by reply subject: a claim given back then would stay hidden to its end. */
  const pendingReplies = new Map<string, string>()
  /** Tells JetStream what became of a message. A word that gets lost makes it deliver again, and the row knows better. */
  const sendReply = (reply: string | null, word: string) => {
    if (reply === null) return
    try {
      broker.connected().connection.publish(reply, word)
    } catch (error) {
      pendingReplies.set(reply, word)
      log.debug('NATS is told about a delivery when it is back', { error: messageOf(error) })
    }
  }
  broker.onConnected(() => {
    const words = [...pendingReplies]
    pendingReplies.clear()
    for (const [reply, word] of words) sendReply(reply, word)
  })
  const replyTo = (outcome: MessageOutcome, visibility: number) => {
    switch (outcome.type) {
      case 'received':
        return sendReply(outcome.reply, nakWithDelay(visibility))
      case 'hidden':
        return sendReply(outcome.reply, nakWithDelay(outcome.milliseconds))
      case 'finished':
        return sendReply(outcome.reply, ACKNOWLEDGE)
    }
  }

  /** NATS' own errors are the caller's 503. @throws Problem unavailable */
  const asUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Problem) throw error
      log.warn('NATS refused what it was asked', { error: messageOf(error) })
      throw new Problem('unavailable', 'NATS does not do what it was asked, try again: the events are safe')
    }
  }

  const pullFor = async (connected: BrokerConnection, request: ReceiveRequest, wait: number, signal: AbortSignal) => {
    const { consumer, max } = request
    const attempt = () => pull(connected, { consumer, batch: max, wait, signal })
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ConsumerMissingError)) throw error
      const { kind } = await readConsumer(database, consumer)
      await ensureDurable(connected.manager, consumer, subjectOf(entities, kind), 'everything')
      return attempt()
    }
  }

  /** @returns whether it is known now what clients took at JetStream itself */
  const syncProgress = async (): Promise<boolean> => {
    try {
      await broker.ensureStream()
      const { manager } = broker.connected()
      // In this order: consumers of a stream that was purged or replaced say of what is gone that they are past it.
      const record = await readPlaces(database.kysely)
      const durables = await listDurables(manager)
      const info = await manager.streams.info(STREAM, { deleted_details: true })
      if (await relayMissing(database, record, info)) {
        log.warn('NATS lost events: the stream was replaced, restored or purged; what waits is handed to it again')
        wakeup.wake('events')
        return await syncProgress()
      }
      const groups = await readGroups(database.kysely)
      const isRecorded = await withPlaces(database, record, 'look', (writer) =>
        recordProgress(writer, { durables, groups, entities, now: clock.now() }),
      )
      await repairDurables(manager, { durables, groups, entities })
      return isRecorded
    } catch (error) {
      log.debug('what was taken at NATS itself is not known', { error: messageOf(error) })
      return false
    }
  }
  const now = () => clock.now()
  const stopRelay = startRelay({ broker, database, entities, wakeup, checkStream: syncProgress, now, log })
  const lookAtProgress = () => detach('looking at what was taken at NATS', syncProgress())
  broker.onConnected(lookAtProgress)
  const followAdvisories = followTerminations(broker, { database, now, log })
  const progress = setInterval(() => {
    followAdvisories()
    lookAtProgress()
  }, PROGRESS_INTERVAL_MS)

  return {
    putConsumer: async (consumer, createdTime) => {
      // The durable consumer comes first: an event gets a row for the group only once the group is stored, so none is missed.
      // Without NATS it is made later, from all the stream has; the rows choose from that.
      if (broker.unavailableReason === undefined) {
        const { manager } = broker.connected()
        const from = (await consumerExists(database, consumer.name)) ? 'everything' : 'new'
        await asUnavailable(() => ensureDurable(manager, consumer.name, subjectOf(entities, consumer.kind), from))
      }
      return storeConsumer(database, consumer, createdTime)
    },
    deleteConsumer: async (name) => {
      await removeConsumer(database, name)
      try {
        await deleteDurable(broker.connected().manager, name)
      } catch (error) {
        log.debug('a durable consumer stays until NATS is back', { consumer: name, error: messageOf(error) })
      }
    },
    receive: async (request, signal) => {
      const deadline = monotonic(clock) + request.wait
      for (;;) {
        const { maxDeliveries } = await readConsumer(database, request.consumer)
        const connected = broker.connected()
        const left = Math.max(0, deadline - monotonic(clock))
        const pulled = await asUnavailable(() => pullFor(connected, request, left, signal))
        const { consumer, visibility } = request
        const lock = { consumer, maxDeliveries, visibility, id: newId(), time }
        const outcomes = await lockPulled(database, lock, pulled.map(parsePulled))
        for (const outcome of outcomes) replyTo(outcome, visibility)
        const events = outcomes.flatMap((outcome): ReceivedEvent[] =>
          outcome.type === 'received' ? [outcome.event] : [],
        )
        // Messages that came and are not for the group don't end the wait.
        if (events.length > 0 || signal.aborted) return events
        if (pulled.length > 0) continue
        if (deadline <= monotonic(clock)) return events
        // The server ended the wait early: it has too many waiting claims, or is about to stop.
        await clock.sleep(PULL_RETRY_DELAY_MS, signal)
      }
    },
    acknowledge: async (consumer, receipt) =>
      sendReply(await deleteDelivery(database, consumer, receipt, time), ACKNOWLEDGE),
    extend: async (consumer, receipt, visibility) =>
      sendReply(await extendDelivery(database, consumer, receipt, visibility, time), nakWithDelay(visibility)),
    release: async (consumer, receipt) =>
      sendReply(await extendDelivery(database, consumer, receipt, 0, time, false), nakWithDelay(0)),
    reject: async (consumer, receipt) =>
      sendReply(await rejectDelivery(database, consumer, receipt, time), ACKNOWLEDGE),
    deadLetters: (consumer, limit) => readDeadLetters(database, consumer, limit),
    replay: async (consumer, eventId) => {
      await replayDeadLetter(database, consumer, eventId)
      wakeup.wake('events')
    },
    recordTaken: async (resourceId, reason) => {
      const { kysely } = database
      const waiting = await kysely
        .selectFrom('events')
        .select('sequence')
        .where('resource_id', '=', resourceId)
        .where('reason', '=', reason)
        .where('taken_time', 'is', null)
        .where('stream_sequence', 'is not', null)
        .execute()
      if (waiting.length === 0 || (await syncProgress())) return
      // A worker that may have taken it must not miss the equal one.
      await kysely
        .updateTable('events')
        .set({ taken_time: timestampOf(clock.now()) })
        .where(
          'sequence',
          'in',
          waiting.map(({ sequence }) => sequence),
        )
        .execute()
    },
    recordProgress: async () => {
      // Not while NATS is away: nothing can be taken there then, and what was is heard of when it is back.
      if (broker.unavailableReason === undefined) await syncProgress()
    },
    get unavailableReason() {
      return broker.unavailableReason
    },
    close: async () => {
      clearInterval(progress)
      await stopRelay()
      await broker.close()
    },
  }
}

const ACKNOWLEDGE = '+ACK'
const NANOSECONDS_PER_MILLISECOND = 1_000_000

/** JetStream takes a delay of zero for the group's whole acknowledgement time. */
const nakWithDelay = (milliseconds: number): string =>
  milliseconds <= 0
    ? '-NAK'
    : `-NAK ${JSON.stringify({ delay: Math.ceil(milliseconds) * NANOSECONDS_PER_MILLISECOND })}`

/** Every client may publish to the stream: a message that isn't the relay's has no row, its sequence is none. */
const parsePulled = ({ message, reply }: Pulled): PulledMessage => {
  const sequence = Number(message.headers?.get(SEQUENCE_HEADER))
  return { sequence: Number.isSafeInteger(sequence) ? sequence : 0, reply }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
