import { matches } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { buildReconcileEvent, type EventRequest, type ReconcileEvent } from '../model/cloudevent.ts'
import type { Resource } from '../model/resource.ts'
import type { MutationContext } from '../mutations/context.ts'
import type { Writer } from '../storage/dialect.ts'
import { type Address, lockResource } from '../storage/resources.ts'
import { ALWAYS_VISIBLE } from '../storage/shared-time.ts'
import type { EventQueue } from './queue.ts'

export interface PublishResult {
  readonly event: ReconcileEvent
  /** False when an equal event that is not taken yet answers the request. */
  readonly isNew: boolean
}

export interface PublishContext extends Pick<MutationContext, 'database' | 'notifyCommitted'> {
  readonly queue: Pick<EventQueue, 'recordTaken'>
}

/**
 * Stores an event and a delivery for every consumer group that wants it, in one transaction. While no consumer has
 * taken it, the same request gets the same event: ten pulses about one state are one piece of work (API-33).
 * @throws Problem notFound
 */
export const publishEvent = async (
  { database, notifyCommitted, queue }: PublishContext,
  address: Address,
  request: EventRequest,
): Promise<PublishResult> => {
  await queue.recordTaken(address.id, request.reason)
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
      if (request.nextTime !== undefined)
        await writer
          .updateTable('events')
          .set({ next_time: request.nextTime })
          .where('sequence', '=', waiting.sequence)
          .execute()
      // A group that was made since then hasn't got it.
      await createDeliveries(writer, waiting.sequence, resource)
      return { event: JSON.parse(waiting.document) as ReconcileEvent, isNew: false }
    }
    const event = buildReconcileEvent(resource, await nextEventNumber(writer, resource.id), request)
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
        next_time: request.nextTime ?? null,
      })
      .returning('sequence')
      .executeTakeFirstOrThrow()
    await createDeliveries(writer, sequence, resource)
    return { event, isNew: true }
  })
  notifyCommitted('events')
  return published
}

const nextEventNumber = async (writer: Writer, resourceId: string): Promise<number> => {
  const { event_count } = await writer
    .updateTable('resources')
    .set(({ eb }) => ({ event_count: eb('event_count', '+', 1) }))
    .where('id', '=', resourceId)
    .returning('event_count')
    .executeTakeFirstOrThrow()
  return event_count
}

/**
 * A delivery for each group whose selector selects the resource, and for each that was told of it before: what its adapter
 * has made of a resource that left the selector is its own to remove (API-51).
 */
const createDeliveries = async (writer: Writer, sequence: number, resource: Resource): Promise<void> => {
  const groups = await writer
    .selectFrom('event_consumers as group')
    .leftJoin('event_recipients as recipient', (join) =>
      join.onRef('recipient.consumer', '=', 'group.name').on('recipient.resource_id', '=', resource.id),
    )
    .select(['group.name', 'group.selector', 'recipient.consumer as recipient'])
    .where('group.kind', '=', resource.kind)
    .execute()
  const interested = groups.filter(
    ({ selector, recipient }) => recipient !== null || matches(parseSelector(selector), resource.labels),
  )
  if (interested.length === 0) return
  await writer
    .insertInto('event_deliveries')
    .values(
      interested.map(({ name }) => ({
        consumer: name,
        event_sequence: sequence,
        visible_time: ALWAYS_VISIBLE,
        deliveries: 0,
      })),
    )
    .onConflict((conflict) => conflict.columns(['consumer', 'event_sequence']).doNothing())
    .execute()
  const added = interested.filter(({ recipient }) => recipient === null)
  if (added.length === 0) return
  await writer
    .insertInto('event_recipients')
    .values(added.map(({ name }) => ({ resource_id: resource.id, consumer: name })))
    .onConflict((conflict) => conflict.columns(['resource_id', 'consumer']).doNothing())
    .execute()
}
