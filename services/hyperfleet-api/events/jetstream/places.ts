import type { JetStreamManager } from '@nats-io/jetstream'
import type { Database } from '../../storage/database.ts'
import type { Reader } from '../../storage/dialect.ts'
import { STREAM } from './broker.ts'

/**
 * The place that a message has in the stream, as its rows note it. A place is worth something only in the stream that it
 * was given in: one that was deleted and made anew or restored has other messages there, or none (API-77).
 */

/** The newest place that any row notes; 0 when there is none. */
export const newestPlace = async (reader: Reader): Promise<number> => {
  const { event, delivery } = await reader
    .selectNoFrom(({ selectFrom }) => [
      selectFrom('events')
        .select(({ fn }) => fn.max('stream_sequence').as('place'))
        .as('event'),
      selectFrom('event_deliveries')
        .select(({ fn }) => fn.max('stream_sequence').as('place'))
        .as('delivery'),
    ])
    .executeTakeFirstOrThrow()
  return Math.max(Number(event ?? 0), Number(delivery ?? 0))
}

/** What an earlier stream had and is not done with is relayed to the new one. */
export const resetRelay = (database: Database): Promise<void> =>
  database.transaction(async (writer) => {
    await writer.updateTable('event_deliveries').set({ stream_sequence: null }).where('dead_time', 'is', null).execute()
    await writer.updateTable('events').set({ relayed_time: null }).where('taken_time', 'is', null).execute()
    await writer.updateTable('events').set({ stream_sequence: null }).execute()
  })

/** Has what a stream that was made anew or restored lacks relayed again: it ends before what rows note. */
export const relayMissing = async ({ streams }: JetStreamManager, database: Database): Promise<void> => {
  // Read first: what is relayed meanwhile is beyond what the stream says of itself.
  const newest = await newestPlace(database.kysely)
  if (newest > 0 && (await streams.info(STREAM)).state.last_seq < newest) await resetRelay(database)
}
