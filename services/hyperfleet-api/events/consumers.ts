import type { ReconcileEvent } from '../model/cloudevent.ts'
import type { Entity } from '../model/entity.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'

/** A consumer group: everyone who claims under its name shares one delivery of each event. */
export interface Consumer {
  readonly name: string
  readonly entity: Entity
  /** Kubernetes label selector, '' for every resource of the kind. */
  readonly selector: string
  /** After so many deliveries without an acknowledgement an event goes to the dead letters. */
  readonly maxDeliveries: number
}

/** Makes or changes a group. A new one gets what is published from now on. @returns whether it is new */
export const putConsumer = async (
  { kysely }: Database,
  { name, entity, selector, maxDeliveries }: Consumer,
  time: Timestamp,
): Promise<boolean> => {
  const settings = { kind: entity.kind, selector, max_deliveries: maxDeliveries }
  const inserted = await kysely
    .insertInto('event_consumers')
    .values({ name, created_time: time, ...settings })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('name')
    .executeTakeFirst()
  if (inserted !== undefined) return true
  await kysely.updateTable('event_consumers').set(settings).where('name', '=', name).execute()
  return false
}

/** Forgets a group and what it has not taken. @throws Problem notFound */
export const deleteConsumer = async ({ kysely }: Database, name: string): Promise<void> => {
  const gone = await kysely.deleteFrom('event_consumers').where('name', '=', name).returning('name').executeTakeFirst()
  if (gone === undefined) throw noConsumer(name)
}

/** How many deliveries the group allows. @throws Problem notFound */
export const maxDeliveriesOf = async ({ kysely }: Pick<Database, 'kysely'>, name: string): Promise<number> => {
  const row = await kysely
    .selectFrom('event_consumers')
    .select('max_deliveries')
    .where('name', '=', name)
    .executeTakeFirst()
  if (row === undefined) throw noConsumer(name)
  return row.max_deliveries
}

/** An event that was delivered too often. */
export interface DeadLetter {
  readonly id: string
  readonly deliveries: number
  readonly dead_time: Timestamp
  readonly event: ReconcileEvent
}

/** The oldest dead letters of a group. @throws Problem notFound */
export const readDeadLetters = async (database: Database, name: string, limit: number): Promise<DeadLetter[]> => {
  await maxDeliveriesOf(database, name)
  const rows = await database.kysely
    .selectFrom('event_deliveries as delivery')
    .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select(['event.id', 'event.document', 'delivery.deliveries', 'delivery.dead_time'])
    .where('delivery.consumer', '=', name)
    .where('delivery.dead_time', 'is not', null)
    .orderBy('event.sequence')
    .limit(limit)
    .execute()
  return rows.map(({ id, document, deliveries, dead_time }) => ({
    id,
    deliveries,
    dead_time: dead_time ?? '',
    event: JSON.parse(document) as ReconcileEvent,
  }))
}

/** Delivers a dead letter again, from one. @throws Problem notFound */
export const replayDeadLetter = async (
  database: Database,
  name: string,
  eventId: string,
  time: Timestamp,
): Promise<void> => {
  await maxDeliveriesOf(database, name)
  const replayed = await database.kysely
    .updateTable('event_deliveries')
    .set({ dead_time: null, deliveries: 0, visible_time: time, claim: null })
    .where('consumer', '=', name)
    .where('dead_time', 'is not', null)
    .where('event_sequence', 'in', (inner) => inner.selectFrom('events').select('sequence').where('id', '=', eventId))
    .returning('consumer')
    .executeTakeFirst()
  if (replayed === undefined) throw new Problem('notFound', `consumer '${name}' has no dead letter '${eventId}'`)
}

const noConsumer = (name: string): Problem =>
  new Problem('notFound', `consumer '${name}' not found, make it by PUT /events/consumers/${name}`)
