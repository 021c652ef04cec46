import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Wakeup } from '../feed/wakeup.ts'
import type { Database } from '../storage/database.ts'
import { sharedTime } from '../storage/shared-time.ts'
import { readConsumer, removeConsumer, storeConsumer } from './consumers.ts'
import { countDeliveries } from './count-deliveries.ts'
import { readDeadLetters, replayDeadLetter } from './dead-letters.ts'
import {
  type Delivery,
  type DeliveryLock,
  deleteDelivery,
  extendDelivery,
  lockDeliveries,
  moveToDeadLetters,
  rejectDelivery,
} from './deliveries.ts'
import type { EventQueue, ReceivedEvent, ReceiveRequest } from './queue.ts'
import { createWaitingClaims } from './waiting-claims.ts'

export interface DatabaseQueueOptions {
  readonly database: Database
  readonly wakeup: Wakeup
  readonly clock: Clock
  readonly newId: () => string
}

/** The queue that needs nothing but the database: claims look for rows that are visible. */
export const databaseQueue = ({ database, wakeup, clock, newId }: DatabaseQueueOptions): EventQueue => {
  const time = sharedTime(database, clock)
  const waiting = createWaitingClaims({ database, wakeup, clock, time })
  /** One look at what is there. @throws Problem notFound */
  const receiveNow = async ({ consumer, max, visibility }: ReceiveRequest): Promise<ReceivedEvent[]> => {
    // Read anew each time: the group may be changed or deleted while a claim waits.
    const { maxDeliveries } = await readConsumer(database, consumer)
    return receiveVisible(database, { consumer, maxDeliveries, visibility, id: newId(), time }, max)
  }
  return {
    putConsumer: (consumer, time) => storeConsumer(database, consumer, time),
    deleteConsumer: async (name) => {
      await removeConsumer(database, name)
      wakeup.wake('events')
    },
    receive: async (request, signal) => {
      const deadline = monotonic(clock) + request.wait
      let turn: Disposable | undefined
      while (!signal.aborted) {
        const claims = await receiveNow(request).finally(() => turn?.[Symbol.dispose]())
        const left = deadline - monotonic(clock)
        if (claims.length > 0 || left <= 0) return claims
        turn = await waiting.wait(request, left, signal)
      }
      turn?.[Symbol.dispose]()
      return []
    },
    acknowledge: async (consumer, receipt) => {
      await deleteDelivery(database, consumer, receipt, time)
    },
    extend: async (consumer, receipt, visibility) => {
      await extendDelivery(database, consumer, receipt, visibility, time)
      if (visibility === 0) wakeup.wake('events')
    },
    release: async (consumer, receipt) => {
      await extendDelivery(database, consumer, receipt, 0, time, false)
      wakeup.wake('events')
    },
    reject: async (consumer, receipt) => {
      await rejectDelivery(database, consumer, receipt, time)
    },
    deadLetters: (consumer, limit) => readDeadLetters(database, consumer, limit),
    replay: async (consumer, eventId) => {
      await replayDeadLetter(database, consumer, eventId)
      wakeup.wake('events')
    },
    recordTaken: async () => {},
    isAcknowledgedElsewhere: false,
    recordProgress: async () => {},
    unavailableReason: undefined,
    close: async () => {},
  }
}

/** Claims what is visible, oldest first; buries on the way what was delivered too often. */
const receiveVisible = async (database: Database, request: DeliveryLock, max: number): Promise<ReceivedEvent[]> =>
  database.transaction(async (writer) => {
    for (;;) {
      const query = writer
        .selectFrom('event_deliveries as delivery')
        .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
        .select(['event.sequence', 'event.document', 'delivery.deliveries', 'delivery.given_back', 'delivery.replays'])
        .where('delivery.consumer', '=', request.consumer)
        .where('delivery.dead_time', 'is', null)
        .where('delivery.visible_time', '<=', request.time.at())
        .orderBy('delivery.event_sequence')
        .limit(max)
      // Claimers of one group at the same time step around each other's rows.
      const locked = database.dialect === 'postgres' ? query.forUpdate('delivery').skipLocked() : query
      const rows: Delivery[] = await locked.execute()
      const isDead = (row: Delivery) => countDeliveries(row) >= request.maxDeliveries
      await moveToDeadLetters(writer, request.consumer, rows.filter(isDead), request.time.at())
      const live = rows.filter((row) => !isDead(row))
      if (live.length > 0 || rows.length < max) return lockDeliveries(writer, request, live)
    }
  })
