import type { ReconcileEvent } from '../model/cloudevent.ts'
import { withReplays } from '../model/cloudevent.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import { ALWAYS_VISIBLE } from '../storage/shared-time.ts'
import { readConsumer } from './consumers.ts'
import { countDeliveries } from './count-deliveries.ts'

/** An event that was delivered too often, or that a member of the group gave up. */
export interface DeadLetter {
  readonly id: string
  readonly deliveries: number
  readonly dead_time: Timestamp
  readonly event: ReconcileEvent
}

/** The oldest dead letters of a group. @throws Problem notFound */
export const readDeadLetters = async (database: Database, name: string, limit: number): Promise<DeadLetter[]> => {
  await readConsumer(database, name)
  const rows = await database.kysely
    .selectFrom('event_deliveries as delivery')
    .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select([
      'event.id',
      'event.document',
      'delivery.deliveries',
      'delivery.given_back',
      'delivery.dead_time',
      'delivery.replays',
    ])
    .where('delivery.consumer', '=', name)
    .where('delivery.dead_time', 'is not', null)
    .orderBy('event.sequence')
    .limit(limit)
    .execute()
  return rows.map(({ id, document, deliveries, given_back, dead_time, replays }) => ({
    id,
    deliveries: countDeliveries({ deliveries, given_back }),
    dead_time: dead_time ?? '',
    event: withReplays(JSON.parse(document) as ReconcileEvent, replays),
  }))
}

/** Makes a dead letter a waiting delivery again, not yet relayed and counted from one. @throws Problem notFound */
export const replayDeadLetter = async (database: Database, name: string, eventId: string): Promise<void> => {
  await readConsumer(database, name)
  const updated = await database.kysely
    .updateTable('event_deliveries')
    .set(({ eb }) => ({
      dead_time: null,
      deliveries: 0,
      given_back: 0,
      visible_time: ALWAYS_VISIBLE,
      claim: null,
      reply: null,
      stream_sequence: null,
      is_pulled: 0,
      replays: eb('replays', '+', 1),
    }))
    .where('consumer', '=', name)
    .where('dead_time', 'is not', null)
    .where('event_sequence', 'in', (inner) => inner.selectFrom('events').select('sequence').where('id', '=', eventId))
    .returning('consumer')
    .executeTakeFirst()
  if (updated === undefined) throw new Problem('notFound', `consumer '${name}' has no dead letter '${eventId}'`)
}
