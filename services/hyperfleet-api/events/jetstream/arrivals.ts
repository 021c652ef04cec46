import { type Timestamp, timestampOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import { bury, type Hold, hold } from '../deliveries.ts'
import type { Claim } from '../queue.ts'

/** A message that JetStream handed out, by the event's row. */
export interface Arrival {
  readonly sequence: number
  readonly reply: string
}

/** What a message is worth, decided by the row of its delivery. */
export type Verdict =
  | { readonly type: 'claimed'; readonly reply: string; readonly claim: Claim }
  /** Another claim holds the row; the message came early. */
  | { readonly type: 'hidden'; readonly reply: string; readonly until: Timestamp }
  /** There is no row (acknowledged, or never for this group), or it is dead. */
  | { readonly type: 'finished'; readonly reply: string }

/** Looks up the rows of what arrived, gives those that are free to the claim, and buries what came too often. */
export const holdArrivals = async (
  database: Database,
  request: Hold,
  arrivals: readonly Arrival[],
): Promise<Verdict[]> => {
  if (arrivals.length === 0) return []
  const time = timestampOf(request.now)
  return database.transaction(async (writer) => {
    const query = writer
      .selectFrom('event_deliveries as delivery')
      .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
      .select([
        'event.sequence',
        'event.document',
        'delivery.deliveries',
        'delivery.replays',
        'delivery.visible_time',
        'delivery.claim',
      ])
      .where('delivery.consumer', '=', request.consumer)
      .where(
        'delivery.event_sequence',
        'in',
        arrivals.map(({ sequence }) => sequence),
      )
      .where('delivery.dead_time', 'is', null)
      .orderBy('delivery.event_sequence')
    const rows = await (database.dialect === 'postgres' ? query.forUpdate('delivery') : query).execute()
    const free = rows.filter(({ visible_time }) => visible_time <= time)
    const isDead = ({ deliveries }: { readonly deliveries: number }) => deliveries >= request.maxDeliveries
    await bury(writer, request.consumer, free.filter(isDead), time)
    const live = free.filter((row) => !isDead(row))
    // An event may arrive by two messages at once: the first is the claim's.
    const replies = new Map(arrivals.toReversed().map(({ sequence, reply }) => [sequence, reply]))
    const liveReplies = live.map(({ sequence }) => [sequence, replies.get(sequence) ?? ''] as const)
    const claims = await hold(writer, request, live, new Map(liveReplies))
    const claimed = new Map(claims.map((claim, index) => [live[index]?.sequence, claim]))
    const hidden = new Map(rows.filter((row) => !free.includes(row)).map((row) => [row.sequence, row.visible_time]))
    const held = timestampOf(new Date(request.now.getTime() + request.visibility))
    return arrivals.map(({ sequence, reply }): Verdict => {
      const claim = claimed.get(sequence)
      if (claim !== undefined)
        return reply === replies.get(sequence)
          ? { type: 'claimed', reply, claim }
          : { type: 'hidden', reply, until: held }
      const until = hidden.get(sequence)
      return until === undefined ? { type: 'finished', reply } : { type: 'hidden', reply, until }
    })
  })
}
