import type { Timestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import type { Database } from '../storage/database.ts'
import type { Reader } from '../storage/dialect.ts'

/** A consumer group: all workers that take events under its name share one delivery of each event. */
export interface Consumer {
  readonly name: string
  readonly kind: string
  /** Kubernetes label selector, '' for every resource of the kind. */
  readonly selector: string
  /** After so many deliveries without an acknowledgement an event goes to the dead letters. */
  readonly maxDeliveries: number
}

/** Stores a group. What waits for it stays, new settings are for what is posted from now on. @returns whether it is new */
export const storeConsumer = async (
  { kysely, transaction }: Database,
  { name, kind, selector, maxDeliveries }: Consumer,
  time: Timestamp,
): Promise<boolean> => {
  const settings = { kind, selector, max_deliveries: maxDeliveries }
  const inserted = await kysely
    .insertInto('event_consumers')
    .values({ name, created_time: time, ...settings })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('name')
    .executeTakeFirst()
  if (inserted !== undefined) return true
  await transaction(async (writer) => {
    const changed = await writer
      .updateTable('event_consumers')
      .set(settings)
      .where('name', '=', name)
      .where(({ or, eb }) => or([eb('kind', '!=', kind), eb('selector', '!=', selector)]))
      .returning('name')
      .executeTakeFirst()
    // It says anew what it wants to be told of; what it was told of before is its own to look after.
    if (changed !== undefined) await writer.deleteFrom('event_recipients').where('consumer', '=', name).execute()
    else await writer.updateTable('event_consumers').set(settings).where('name', '=', name).execute()
  })
  return false
}

/** Forgets a group and its deliveries. A claim may lock these in another order, and a transaction is tried again. @throws Problem notFound */
export const removeConsumer = async ({ transaction }: Database, name: string): Promise<void> => {
  const gone = await transaction((writer) =>
    writer.deleteFrom('event_consumers').where('name', '=', name).returning('name').executeTakeFirst(),
  )
  if (gone === undefined) throw consumerNotFound(name)
}

export const consumerExists = async ({ kysely }: Database, name: string): Promise<boolean> =>
  (await kysely.selectFrom('event_consumers').select('name').where('name', '=', name).executeTakeFirst()) !== undefined

/** @throws Problem notFound */
export const readConsumer = async ({ kysely }: { readonly kysely: Reader }, name: string): Promise<Consumer> => {
  const row = await kysely.selectFrom('event_consumers').selectAll().where('name', '=', name).executeTakeFirst()
  if (row === undefined) throw consumerNotFound(name)
  return { name, kind: row.kind, selector: row.selector, maxDeliveries: row.max_deliveries }
}

const consumerNotFound = (name: string): Problem =>
  new Problem('notFound', `consumer '${name}' not found, make it by PUT /events/consumers/${name}`)
