import { Counter, Gauge, type Registry } from 'prom-client'
import { sharedRead } from '../metrics/shared-read.ts'
import { momentOf, type Timestamp } from '../model/timestamp.ts'
import type { Database } from '../storage/database.ts'
import type { EventQueue } from './queue.ts'

/**
 * Measures a queue: what its groups took and acknowledged through this process, and how they stand in the database, which
 * every replica tells alike.
 */
export const measureQueue = (
  queue: EventQueue,
  { registry, database, now }: { readonly registry: Registry; readonly database: Database; readonly now: () => Date },
): EventQueue => {
  const registers = [registry]
  const labelNames = ['consumer']
  const deliveries = new Counter({
    name: 'hyperfleet_api_event_deliveries_total',
    help: 'Events claimed by a consumer group, repetitions included',
    labelNames,
    registers,
  })
  const acknowledgements = new Counter({
    name: 'hyperfleet_api_event_acknowledgements_total',
    help: 'Events acknowledged by a consumer group',
    labelNames,
    registers,
  })
  // A database that is away says nothing; it must not keep the other metrics from being read.
  const state = sharedRead(() => readQueueState(database).catch(() => undefined))
  const groupGauge = (name: string, help: string, value: (group: GroupState) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const { groups = [] } = (await state()) ?? {}
        this.reset()
        for (const group of groups) this.set({ consumer: group.consumer }, value(group))
      },
    })
  groupGauge(
    'hyperfleet_api_event_queue_depth',
    'Events that a consumer group has not acknowledged, claimed or not',
    ({ waiting }) => waiting,
  )
  groupGauge(
    'hyperfleet_api_event_queue_oldest_age_seconds',
    'Age of the oldest event that a consumer group has not acknowledged; 0 when there is none',
    ({ since }) => (since === null ? 0 : (now().getTime() - momentOf(since).getTime()) / 1_000),
  )
  groupGauge(
    'hyperfleet_api_event_dead_letters',
    'Events that were delivered to a consumer group too often',
    ({ dead }) => dead,
  )
  new Gauge({
    name: 'hyperfleet_api_events_unrelayed',
    help: 'Events that wait to be handed to NATS; without NATS they stay here',
    registers,
    async collect() {
      const read = await state()
      this.remove()
      if (read !== undefined) this.set(read.unrelayed)
    },
  })
  new Gauge({
    name: 'hyperfleet_api_event_queue_up',
    help: '1 while events can be delivered, 0 while NATS is away',
    registers,
    collect() {
      this.set(queue.unavailableReason === undefined ? 1 : 0)
    },
  })
  return {
    putConsumer: (consumer, time) => queue.putConsumer(consumer, time),
    deleteConsumer: (name) => queue.deleteConsumer(name),
    receive: async (request, signal) => {
      const claims = await queue.receive(request, signal)
      deliveries.inc({ consumer: request.consumer }, claims.length)
      return claims
    },
    acknowledge: async (consumer, receipt) => {
      await queue.acknowledge(consumer, receipt)
      acknowledgements.inc({ consumer })
    },
    extend: (consumer, receipt, visibility) => queue.extend(consumer, receipt, visibility),
    release: (consumer, receipt) => queue.release(consumer, receipt),
    reject: (consumer, receipt) => queue.reject(consumer, receipt),
    deadLetters: (consumer, limit) => queue.deadLetters(consumer, limit),
    replay: (consumer, eventId) => queue.replay(consumer, eventId),
    recordTaken: (resourceId, reason) => queue.recordTaken(resourceId, reason),
    isAcknowledgedElsewhere: queue.isAcknowledgedElsewhere,
    recordProgress: () => queue.recordProgress(),
    get unavailableReason() {
      return queue.unavailableReason
    },
    close: () => queue.close(),
  }
}

interface GroupState {
  readonly consumer: string
  readonly waiting: number
  readonly dead: number
  /** When the oldest was made; null when none waits. */
  readonly since: Timestamp | null
}

const readQueueState = async ({ kysely }: Database) => {
  const groups = await kysely
    .selectFrom('event_consumers as consumer')
    .leftJoin('event_deliveries as delivery', 'delivery.consumer', 'consumer.name')
    .leftJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select(({ fn }) => [
      'consumer.name as consumer',
      fn.count('delivery.event_sequence').filterWhere('delivery.dead_time', 'is', null).as('waiting'),
      fn.count('delivery.dead_time').as('dead'),
      fn.min('event.time').filterWhere('delivery.dead_time', 'is', null).as('since'),
    ])
    .groupBy('consumer.name')
    .execute()
  const { unrelayed } = await kysely
    .selectFrom('events')
    .select(({ fn }) => fn.countAll().as('unrelayed'))
    .where('relayed_time', 'is', null)
    .executeTakeFirstOrThrow()
  const numbered = groups.map(
    ({ waiting, dead, ...group }): GroupState => ({ ...group, waiting: Number(waiting), dead: Number(dead) }),
  )
  return { groups: numbered, unrelayed: Number(unrelayed) }
}
