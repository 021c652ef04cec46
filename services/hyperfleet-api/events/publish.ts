import { matches } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { type EventRequest, type ReconcileEvent, reconcileEvent } from '../model/cloudevent.ts'
import type { Resource } from '../model/resource.ts'
import type { Mutations } from '../mutations/context.ts'
import type { Writer } from '../storage/dialect.ts'
import { type Address, lockResource } from '../storage/resources.ts'
import type { EventQueue } from './queue.ts'

export interface Published {
  readonly event: ReconcileEvent
  /** False when an equal event that nobody has taken yet answers the request. */
  readonly isNew: boolean
}

export interface Publishing extends Pick<Mutations, 'database' | 'committed'> {
  readonly queue: Pick<EventQueue, 'noteTaken'>
}

/**
 * Stores an event and a delivery for every consumer group that wants it, in one transaction. While no consumer has
 * taken it, the same request gets the same event: ten pulses about one state are one piece of work.
 * @throws Problem notFound
 */
export const publishEvent = async (
  { database, committed, queue }: Publishing,
  address: Address,
  request: EventRequest,
): Promise<Published> => {
  await queue.noteTaken(address.id, request.reason)
  const published = await database.transaction(async (writer) => {
    // The lock makes two equal requests at once one event.
    const resource = await lockResource(writer, database, address)
    const waiting = await writer
      .selectFrom('events')
      .select(['sequence', 'document'])
      .where('resource_id', '=', resource.id)
      .where('generation', '=', resource.generation)
      .where('reason', '=', request.reason)
      .where('taken_time', 'is', null)
      .executeTakeFirst()
    if (waiting !== undefined) {
      // A group that was made since then hasn't got it.
      await deliver(writer, waiting.sequence, resource, request.time)
      return { event: JSON.parse(waiting.document) as ReconcileEvent, isNew: false }
    }
    const event = reconcileEvent(resource, await nextNumber(writer, resource.id), request)
    const { sequence } = await writer
      .insertInto('events')
      .values({
        id: event.id,
        resource_id: resource.id,
        kind: resource.kind,
        generation: resource.generation,
        reason: request.reason,
        document: JSON.stringify(event),
        time: request.time,
      })
      .returning('sequence')
      .executeTakeFirstOrThrow()
    await deliver(writer, sequence, resource, request.time)
    return { event, isNew: true }
  })
  committed()
  return published
}

const nextNumber = async (writer: Writer, resourceId: string): Promise<number> => {
  const { event_count } = await writer
    .updateTable('resources')
    .set(({ eb }) => ({ event_count: eb('event_count', '+', 1) }))
    .where('id', '=', resourceId)
    .returning('event_count')
    .executeTakeFirstOrThrow()
  return event_count
}

const deliver = async (writer: Writer, sequence: number, resource: Resource, time: string): Promise<void> => {
  const groups = await writer
    .selectFrom('event_consumers')
    .select(['name', 'selector'])
    .where('kind', '=', resource.kind)
    .execute()
  const wanting = groups.filter(({ selector }) => matches(parseSelector(selector), resource.labels))
  if (wanting.length === 0) return
  await writer
    .insertInto('event_deliveries')
    .values(
      wanting.map(({ name }) => ({ consumer: name, event_sequence: sequence, visible_time: time, deliveries: 0 })),
    )
    .onConflict((conflict) => conflict.columns(['consumer', 'event_sequence']).doNothing())
    .execute()
}
