import type { ReconcileEvent } from '../model/cloudevent.ts'
import { type Timestamp, timestampOf } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database, Writer } from '../storage/database.ts'

/**
 * At-least-once delivery to a group: a claim hides events from the others for a while, an acknowledgement removes them,
 * and what is neither acknowledged nor extended in time is delivered again.
 */
export interface Claim {
  /** Good until the visibility ends; acknowledges or extends this delivery and no other. */
  readonly receipt: string
  /** How often this event was delivered to the group, this time included. */
  readonly deliveries: number
  readonly event: ReconcileEvent
}

export interface ClaimRequest {
  readonly consumer: string
  readonly max: number
  /** Milliseconds during which nobody else gets the events. */
  readonly visibility: number
  readonly maxDeliveries: number
}

/** Claims what is there now, oldest first. @param id unique to this call, becomes part of the receipts */
export const claimNow = async (database: Database, request: ClaimRequest, id: string, now: Date): Promise<Claim[]> => {
  const time = timestampOf(now)
  return database.transaction(async (writer) => {
    const visible = await lockVisible(writer, database, request, time)
    const dead = visible.filter(({ deliveries }) => deliveries >= request.maxDeliveries)
    const live = visible.filter(({ deliveries }) => deliveries < request.maxDeliveries)
    await update(writer, request.consumer, dead, { dead_time: time, claim: null })
    if (live.length === 0) return []
    const sequences = live.map(({ event_sequence }) => event_sequence)
    await writer
      .updateTable('event_deliveries')
      .set(({ eb }) => ({
        claim: id,
        visible_time: later(now, request.visibility),
        deliveries: eb('deliveries', '+', 1),
      }))
      .where('consumer', '=', request.consumer)
      .where('event_sequence', 'in', sequences)
      .execute()
    await writer
      .updateTable('events')
      .set({ taken_time: time })
      .where('sequence', 'in', sequences)
      .where('taken_time', 'is', null)
      .execute()
    return live.map(({ event_sequence, deliveries, document }) => ({
      receipt: `${id}.${event_sequence}`,
      deliveries: deliveries + 1,
      event: JSON.parse(document) as ReconcileEvent,
    }))
  })
}

/** When the next hidden delivery of the group shows up; undefined when none is waiting. */
export const nextVisible = async ({ kysely }: Database, consumer: string): Promise<Timestamp | undefined> => {
  const row = await kysely
    .selectFrom('event_deliveries')
    .select(({ fn }) => fn.min('visible_time').as('time'))
    .where('consumer', '=', consumer)
    .where('dead_time', 'is', null)
    .executeTakeFirst()
  return row?.time ?? undefined
}

/** Done: the event is not delivered to this group again. @throws Problem notFound | staleReceipt */
export const acknowledge = async (database: Database, consumer: string, receipt: string, now: Date): Promise<void> => {
  const { claim, sequence } = parseReceipt(receipt)
  const row = await database.kysely
    .deleteFrom('event_deliveries')
    .where('consumer', '=', consumer)
    .where('event_sequence', '=', sequence)
    .where('claim', '=', claim)
    .where('visible_time', '>', timestampOf(now))
    .where('dead_time', 'is', null)
    .returning('consumer')
    .executeTakeFirst()
  if (row === undefined) throw await stale(database, consumer, sequence)
}

/** Hides the event for so many milliseconds from now; 0 gives it back at once. @throws Problem notFound | staleReceipt */
export const extend = async (
  database: Database,
  consumer: string,
  receipt: string,
  visibility: number,
  now: Date,
): Promise<void> => {
  const { claim, sequence } = parseReceipt(receipt)
  const row = await database.kysely
    .updateTable('event_deliveries')
    .set({ visible_time: later(now, visibility), ...(visibility === 0 && { claim: null }) })
    .where('consumer', '=', consumer)
    .where('event_sequence', '=', sequence)
    .where('claim', '=', claim)
    .where('visible_time', '>', timestampOf(now))
    .where('dead_time', 'is', null)
    .returning('consumer')
    .executeTakeFirst()
  if (row === undefined) throw await stale(database, consumer, sequence)
}

interface Visible {
  readonly event_sequence: number
  readonly deliveries: number
  readonly document: string
}

const lockVisible = async (
  writer: Writer,
  { dialect }: Database,
  { consumer, max }: ClaimRequest,
  time: Timestamp,
): Promise<Visible[]> => {
  const query = writer
    .selectFrom('event_deliveries as delivery')
    .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select(['delivery.event_sequence', 'delivery.deliveries', 'event.document'])
    .where('delivery.consumer', '=', consumer)
    .where('delivery.dead_time', 'is', null)
    .where('delivery.visible_time', '<=', time)
    .orderBy('delivery.event_sequence')
    .limit(max)
  // Claimers of one group at the same time step around each other's rows.
  return (dialect === 'postgres' ? query.forUpdate('delivery').skipLocked() : query).execute()
}

const update = async (
  writer: Writer,
  consumer: string,
  rows: readonly Visible[],
  values: { dead_time: Timestamp; claim: null },
): Promise<void> => {
  if (rows.length === 0) return
  await writer
    .updateTable('event_deliveries')
    .set(values)
    .where('consumer', '=', consumer)
    .where(
      'event_sequence',
      'in',
      rows.map(({ event_sequence }) => event_sequence),
    )
    .execute()
}

const later = (now: Date, milliseconds: number): Timestamp => timestampOf(new Date(now.getTime() + milliseconds))

const RECEIPT = /^([0-9a-f-]{36})\.(\d{1,15})$/

const parseReceipt = (receipt: string): { claim: string; sequence: number } => {
  const [, claim, sequence] = RECEIPT.exec(receipt) ?? []
  if (claim === undefined) throw new Problem('notFound', `receipt '${receipt}' is none of this API's`)
  return { claim, sequence: Number(sequence) }
}

const stale = async ({ kysely }: Database, consumer: string, sequence: number): Promise<Problem> => {
  const row = await kysely
    .selectFrom('event_deliveries')
    .select('consumer')
    .where('consumer', '=', consumer)
    .where('event_sequence', '=', sequence)
    .executeTakeFirst()
  return row === undefined
    ? new Problem(
        'notFound',
        'the receipt’s event is not waiting for this consumer: it was acknowledged, or never delivered',
      )
    : new Problem('staleReceipt', 'the receipt’s visibility has ended, the event is delivered again: claim it anew')
}
