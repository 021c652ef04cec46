import type { ExpressionBuilder, RawBuilder } from 'kysely'
import { type ReconcileEvent, withReplays } from '../model/cloudevent.ts'
import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import type { Writer } from '../storage/dialect.ts'
import type { Tables } from '../storage/schema.ts'
import type { SharedTime } from '../storage/shared-time.ts'
import { countDeliveries } from './count-deliveries.ts'
import type { ReceivedEvent } from './queue.ts'

/** A claim about to be made, with the group's settings read. */
export interface DeliveryLock {
  readonly consumer: string
  readonly maxDeliveries: number
  /** Milliseconds. */
  readonly visibility: number
  /** Unique to this claim, becomes part of the receipts. */
  readonly id: string
  readonly time: SharedTime
}

/** A delivery's row, joined with its event. */
export interface Delivery {
  readonly sequence: number
  readonly deliveries: number
  readonly given_back: number
  readonly replays: number
  readonly document: string
}

/**
 * Gives deliveries to a claim and says what the claimer gets. The caller has locked the rows.
 * @param replies by event sequence, where JetStream brought them
 */
export const lockDeliveries = async (
  writer: Writer,
  { consumer, visibility, id, time }: DeliveryLock,
  rows: readonly Delivery[],
  replies?: ReadonlyMap<number, string>,
): Promise<ReceivedEvent[]> => {
  if (rows.length === 0) return []
  const sequences = rows.map(({ sequence }) => sequence)
  await writer
    .updateTable('event_deliveries')
    .set(({ eb }) => ({
      claim: id,
      visible_time: time.at(visibility),
      deliveries: eb('deliveries', '+', 1),
    }))
    .where('consumer', '=', consumer)
    .where('event_sequence', 'in', sequences)
    .execute()
  for (const [sequence, reply] of replies ?? [])
    await writer
      .updateTable('event_deliveries')
      .set({ reply })
      .where('consumer', '=', consumer)
      .where('event_sequence', '=', sequence)
      .where('claim', '=', id)
      .execute()
  await writer
    .updateTable('events')
    .set({ taken_time: time.at() })
    .where('sequence', 'in', sequences)
    .where('taken_time', 'is', null)
    .execute()
  return rows.map((row) => ({
    receipt: `${id}.${row.sequence}`,
    deliveries: countDeliveries(row) + 1,
    event: withReplays(JSON.parse(row.document) as ReconcileEvent, row.replays),
  }))
}

/** Puts deliveries on the dead-letter list. */
export const moveToDeadLetters = async (
  writer: Writer,
  consumer: string,
  rows: readonly Pick<Delivery, 'sequence'>[],
  time: RawBuilder<Timestamp>,
): Promise<void> => {
  if (rows.length === 0) return
  await writer
    .updateTable('event_deliveries')
    .set({ dead_time: time, claim: null, reply: null })
    .where('consumer', '=', consumer)
    .where(
      'event_sequence',
      'in',
      rows.map(({ sequence }) => sequence),
    )
    .execute()
}

/** Removes a delivery that its receipt still holds. @returns its JetStream reply subject @throws Problem notFound | staleReceipt */
export const deleteDelivery = async (
  database: Database,
  consumer: string,
  receipt: string,
  time: SharedTime,
): Promise<string | null> => {
  const row = await database.kysely
    .deleteFrom('event_deliveries')
    .where(lockedBy(consumer, receipt, time))
    .returning('reply')
    .executeTakeFirst()
  if (row === undefined) throw await explainMissingLock(database, consumer, receipt)
  return row.reply
}

/**
 * Hides a delivery that its receipt still holds for so many milliseconds from now; 0 gives it back.
 * @param counts whether it counts towards the dead letters when it is given back
 * @returns its JetStream reply subject @throws Problem notFound | staleReceipt
 */
export const extendDelivery = async (
  database: Database,
  consumer: string,
  receipt: string,
  visibility: number,
  time: SharedTime,
  counts = true,
): Promise<string | null> => {
  const row = await database.kysely
    .updateTable('event_deliveries')
    .set(({ eb }) => ({
      visible_time: time.at(visibility),
      ...(visibility === 0 && { claim: null }),
      // `deliveries` stays: that one has had it is what a deletion waits for.
      ...(!counts && { given_back: eb('given_back', '+', 1) }),
    }))
    .where(lockedBy(consumer, receipt, time))
    .returning('reply')
    .executeTakeFirst()
  if (row === undefined) throw await explainMissingLock(database, consumer, receipt)
  return row.reply
}

/**
 * Makes a dead letter of a delivery that its receipt still holds.
 * @returns its JetStream reply subject @throws Problem notFound | staleReceipt
 */
export const rejectDelivery = async (
  database: Database,
  consumer: string,
  receipt: string,
  time: SharedTime,
): Promise<string | null> => {
  const found = await database.transaction(async (writer) => {
    const row = await writer
      .selectFrom('event_deliveries')
      .select(['event_sequence', 'reply'])
      .where(lockedBy(consumer, receipt, time))
      .executeTakeFirst()
    if (row !== undefined) await moveToDeadLetters(writer, consumer, [{ sequence: row.event_sequence }], time.at())
    return row
  })
  if (found === undefined) throw await explainMissingLock(database, consumer, receipt)
  return found.reply
}

/** The delivery that a receipt holds as long as its visibility has not ended. @throws Problem notFound */
const lockedBy = (consumer: string, receipt: string, time: SharedTime) => {
  const { claim, sequence } = parseReceipt(receipt)
  return ({ and, eb }: ExpressionBuilder<Tables, 'event_deliveries'>) =>
    and([
      eb('consumer', '=', consumer),
      eb('event_sequence', '=', sequence),
      eb('claim', '=', claim),
      eb('visible_time', '>', time.at()),
      eb('dead_time', 'is', null),
    ])
}

const RECEIPT = /^([0-9a-f-]{36})\.(\d{1,15})$/

/** @throws Problem notFound */
export const parseReceipt = (receipt: string): { claim: string; sequence: number } => {
  const [, claim, sequence] = RECEIPT.exec(receipt) ?? []
  if (claim === undefined) throw new Problem('notFound', `receipt '${receipt}' is none of this API's`)
  return { claim, sequence: Number(sequence) }
}

const explainMissingLock = async ({ kysely }: Database, consumer: string, receipt: string): Promise<Problem> => {
  const row = await kysely
    .selectFrom('event_deliveries')
    .select('consumer')
    .where('consumer', '=', consumer)
    .where('event_sequence', '=', parseReceipt(receipt).sequence)
    .executeTakeFirst()
  return row === undefined
    ? new Problem(
        'notFound',
        'the receipt’s event is not waiting for this consumer: it was acknowledged, or never delivered',
      )
    : new Problem('staleReceipt', 'the receipt’s visibility has ended, the event is delivered again: claim it anew')
}
