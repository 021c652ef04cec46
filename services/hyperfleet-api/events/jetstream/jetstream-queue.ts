import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Wakeup } from '../../feed/wakeup.ts'
import type { Entities } from '../../model/entity.ts'
import type { Database } from '../../storage/database.ts'
import { sharedTime } from '../../storage/shared-time.ts'
import { consumerExists, removeConsumer, storeConsumer } from '../consumers.ts'
import { readDeadLetters, replayDeadLetter } from '../dead-letters.ts'
import { deleteDelivery, extendDelivery, rejectDelivery } from '../deliveries.ts'
import type { EventQueue } from '../queue.ts'
import { asUnavailable, type NatsServer, openBroker } from './broker.ts'
import { deleteDurable, ensureDurable } from './durable-consumers.ts'
import { markTaken, readUntaken } from './progress.ts'
import { receive } from './receive.ts'
import { startRelay, subjectOf } from './relay.ts'
import { Replies } from './replies.ts'
import { syncProgress } from './sync-progress.ts'
import { followTerminations } from './termination-advisories.ts'

export interface JetStreamQueueOptions {
  readonly nats: NatsServer
  readonly database: Database
  readonly entities: Entities
  readonly wakeup: Wakeup
  readonly clock: Clock
  readonly newId: () => string
  readonly log: Logger
}

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
  const { nats, database, entities, wakeup, clock, log } = options
  const time = sharedTime(database, clock)
  const now = () => clock.now()
  const broker = await openBroker({ ...nats, log })
  const replies = new Replies(broker, log)
  const sync = () => syncProgress({ broker, database, entities, wakeup, clock, log })
  const stopRelay = startRelay({ broker, database, entities, wakeup, checkStream: sync, now, log })
  const lookAtProgress = () => detach('looking at what was taken at NATS', sync())
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
        const subject = subjectOf(entities, consumer.kind)
        await asUnavailable(() => ensureDurable(manager, consumer.name, subject, from), log)
      }
      return storeConsumer(database, consumer, createdTime)
    },
    deleteConsumer: async (name) => {
      await removeConsumer(database, name)
      try {
        await deleteDurable(broker.connected().manager, name)
      } catch (error) {
        log.debug('jetstream: a durable consumer could not be deleted, trying again once NATS is back', {
          consumer: name,
          error: messageOf(error),
        })
      }
    },
    receive: (request, signal) => receive(request, { ...options, broker, replies, time }, signal),
    acknowledge: async (consumer, receipt) =>
      replies.acknowledge(await deleteDelivery(database, consumer, receipt, time)),
    extend: async (consumer, receipt, visibility) =>
      replies.hide(await extendDelivery(database, consumer, receipt, visibility, time), visibility),
    release: async (consumer, receipt) =>
      replies.hide(await extendDelivery(database, consumer, receipt, 0, time, false), 0),
    reject: async (consumer, receipt) => replies.acknowledge(await rejectDelivery(database, consumer, receipt, time)),
    deadLetters: (consumer, limit) => readDeadLetters(database, consumer, limit),
    replay: async (consumer, eventId) => {
      await replayDeadLetter(database, consumer, eventId)
      wakeup.wake('events')
    },
    recordTaken: async (resourceId, reason) => {
      const waiting = await readUntaken(database.kysely, resourceId, reason)
      if (waiting.length === 0 || (await sync())) return
      // A worker that may have taken it must not miss the equal one.
      await markTaken(database.kysely, waiting, clock.now())
    },
    isAcknowledgedElsewhere: true,
    recordProgress: async () => {
      // Not while NATS is away: nothing can be taken there then, and what was is heard of when it is back.
      if (broker.unavailableReason === undefined) await sync()
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
