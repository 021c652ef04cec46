import { momentOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import { countDeliveries } from '../count-deliveries.ts'
import { type DeliveryLock, lockDeliveries, moveToDeadLetters } from '../deliveries.ts'
import type { ReceivedEvent } from '../queue.ts'

/** A message that JetStream handed out, by the event's row. */
export interface PulledMessage {
  readonly sequence: number
  readonly reply: string
}

/** What a message is worth, decided by the row of its delivery. */
export type MessageOutcome =
  | { readonly type: 'received'; readonly reply: string; readonly event: ReceivedEvent }
  /** Another claim holds the row; the message came early. */
  | { readonly type: 'hidden'; readonly reply: string; readonly milliseconds: number }
  /** There is no row (acknowledged, or never for this group), or it is dead. */
  | { readonly type: 'finished'; readonly reply: string }

/** Looks up the rows of what arrived, gives those that are free to the claim, and buries what came too often. */
export const lockPulled = async (
  database: Database,
  request: DeliveryLock,
  pulled: readonly PulledMessage[],
): Promise<MessageOutcome[]> => {
  if (pulled.length === 0) return []
  return database.transaction(async (writer) => {
    const query = writer
      .selectFrom('event_deliveries as delivery')
      .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
      .select([
        'event.sequence',
        'event.document',
        'delivery.deliveries',
        'delivery.given_back',
        'delivery.replays',
        'delivery.visible_time',
        'delivery.claim',
        request.time.at().as('now'),
      ])
      .where('delivery.consumer', '=', request.consumer)
      .where(
        'delivery.event_sequence',
        'in',
        pulled.map(({ sequence }) => sequence),
      )
      .where('delivery.dead_time', 'is', null)
      .orderBy('delivery.event_sequence')
    const rows = await (database.dialect === 'postgres' ? query.forUpdate('delivery') : query).execute()
    const free = rows.filter(({ visible_time, now }) => visible_time <= now)
    const isDead = (row: Parameters<typeof countDeliveries>[0]) => countDeliveries(row) >= request.maxDeliveries
    await moveToDeadLetters(writer, request.consumer, free.filter(isDead), request.time.at())
    const live = free.filter((row) => !isDead(row))
    // An event may arrive by two messages at once: the first is the claim's.
    const replies = new Map(pulled.toReversed().map(({ sequence, reply }) => [sequence, reply]))
    const liveReplies = live.map(({ sequence }) => [sequence, replies.get(sequence) ?? ''] as const)
    const events = await lockDeliveries(writer, request, live, new Map(liveReplies))
    const received = new Map(events.map((event, index) => [live[index]?.sequence, event]))
    const hidden = new Map(rows.filter((row) => !free.includes(row)).map((row) => [row.sequence, spanOf(row)]))
    return pulled.map(({ sequence, reply }): MessageOutcome => {
      const event = received.get(sequence)
      if (event !== undefined)
        return reply === replies.get(sequence)
          ? { type: 'received', reply, event }
          : { type: 'hidden', reply, milliseconds: request.visibility }
      const milliseconds = hidden.get(sequence)
      return milliseconds === undefined ? { type: 'finished', reply } : { type: 'hidden', reply, milliseconds }
    })
  })
}

/** Milliseconds until a row shows up. */
const spanOf = ({ visible_time, now }: { readonly visible_time: string; readonly now: string }): number =>
  momentOf(visible_time).getTime() - momentOf(now).getTime()
