import type { Database } from './database.ts'
import type { Reader, Writer } from './dialect.ts'

/**
 * The consumer groups that have taken an event about a resource from before its deletion and have not finished with it,
 * sorted (API-50). What such a run has begun to apply is in no report yet. The resource's own row is locked.
 *
 * Deliveries that are being taken at this moment count too; the others can't be taken before the transaction ends, and then
 * their run finds the resource in deletion, or gone.
 */
export const readUnfinishedRuns = async (
  writer: Writer,
  { dialect }: Pick<Database, 'dialect'>,
  { id, generation }: { readonly id: string; readonly generation: number },
): Promise<string[]> => {
  const outstanding = outstandingDeliveries(writer, id, generation)
  const untaken = outstanding.where('delivery.deliveries', '=', 0).where('delivery.is_pulled', '=', 0)
  // Never waits for a claim under way: that may wait for a delivery that is locked here.
  const lockable = await (dialect === 'postgres' ? untaken.forUpdate('delivery').skipLocked() : untaken).execute()
  const locked = new Set(lockable.map(deliveryKey))
  const rows = (await outstanding.execute()).filter((row) => isTaken(row) || !locked.has(deliveryKey(row)))
  return [...new Set(rows.map(({ consumer }) => consumer))].sort()
}

/** The same without locks, for what is only shown. */
export const listTakingGroups = async (
  reader: Reader,
  { id, generation }: { readonly id: string; readonly generation: number },
): Promise<string[]> => {
  const rows = (await outstandingDeliveries(reader, id, generation).execute()).filter(isTaken)
  return [...new Set(rows.map(({ consumer }) => consumer))].sort()
}

/** Deliveries about a resource's generations before this one that are neither acknowledged nor given up. */
const outstandingDeliveries = (reader: Reader, id: string, generation: number) =>
  reader
    .selectFrom('event_deliveries as delivery')
    .innerJoin('events as event', 'event.sequence', 'delivery.event_sequence')
    .select(['delivery.consumer', 'delivery.event_sequence', 'delivery.deliveries', 'delivery.is_pulled'])
    .where('event.resource_id', '=', id)
    .where('event.generation', '<', generation)
    .where('delivery.dead_time', 'is', null)

/** By a claim, or by a client of NATS that takes events itself. */
const isTaken = ({ deliveries, is_pulled }: { readonly deliveries: number; readonly is_pulled: number }): boolean =>
  deliveries > 0 || is_pulled > 0

const deliveryKey = ({ consumer, event_sequence }: { readonly consumer: string; readonly event_sequence: number }) =>
  `${event_sequence}/${consumer}`
