import { RetentionPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { Database } from '../../storage/database.ts'
import type { Reader, Writer } from '../../storage/dialect.ts'

/**
 * The place that a message has in the stream, as its rows note it. A place is worth something only in the stream that it
 * was given in: one that was deleted and made anew or restored has other messages there, or none, and one that was purged
 * has none up to a place (API-77). `event_stream` says which stream that is; its epoch grows whenever rows lose their
 * places, so that nothing that was read of the stream before is put down to the rows after.
 */
export interface PlacesRecord {
  /** When NATS made the stream; '' while that is not noted. */
  readonly created: string
  readonly epoch: number
  /** The newest place that was ever noted; 0 when there is none. */
  readonly newest: number
}

/** To be read before the stream is asked for anything. */
export const readPlaces = (reader: Reader): Promise<PlacesRecord> =>
  reader.selectFrom('event_stream').select(['created', 'epoch', 'newest']).executeTakeFirstOrThrow()

/**
 * Runs `work` in one transaction while places mean what they meant when the record was read; otherwise does nothing.
 * @param use `note` for one that changes what the record says; others go side by side
 * @returns whether it ran
 */
export const withPlaces = (
  database: Database,
  { epoch }: PlacesRecord,
  use: 'look' | 'note',
  work: (writer: Writer) => Promise<void>,
): Promise<boolean> =>
  database.transaction(async (writer) => {
    const query = writer.selectFrom('event_stream').select('epoch').where('epoch', '=', epoch)
    const locked = database.dialect === 'sqlite' ? query : use === 'look' ? query.forShare() : query.forUpdate()
    if ((await locked.executeTakeFirst()) === undefined) return false
    await work(writer)
    return true
  })

/** The stream is another one, or an earlier state: what is not done with is relayed to it. */
export const resetRelay = (database: Database, record: PlacesRecord, created = ''): Promise<boolean> =>
  withPlaces(database, record, 'note', async (writer) => {
    await beginEpoch(writer, record, { created, newest: 0 })
    await writer.updateTable('event_deliveries').set({ stream_sequence: null }).where('dead_time', 'is', null).execute()
    await writer.updateTable('events').set({ relayed_time: null }).where('taken_time', 'is', null).execute()
    await writer.updateTable('events').set({ stream_sequence: null }).execute()
  })

/**
 * Has what the stream lacks relayed again, because it was made anew, restored or purged.
 * @param info read after the record @returns whether there was such a thing
 */
export const relayMissing = async (database: Database, record: PlacesRecord, info: StreamInfo): Promise<boolean> => {
  const { created, state } = info
  if (state.last_seq < record.newest || (record.created !== '' && record.created !== created)) {
    await resetRelay(database, record, created)
    return true
  }
  if (record.created === '')
    await withPlaces(database, record, 'note', async (writer) => {
      await writer.updateTable('event_stream').set({ created }).execute()
    })
  return removesUnread(info) && relayRemoved(database, record, info)
}

/** Share of its limits from which on a stream may drop what is old by itself. */
const CROWDED = 0.5

/**
 * Whether what is gone from the stream was taken away: not where messages go when they are acknowledged, and not where a
 * stream that is full drops the oldest for new ones, which are what would be relayed.
 */
const removesUnread = ({ config, state: { messages, bytes } }: StreamInfo): boolean => {
  const isCrowded = (used: number, limit: number) => limit > 0 && used >= limit * CROWDED
  return (
    config.retention === RetentionPolicy.Limits &&
    !isCrowded(messages, config.max_msgs) &&
    !isCrowded(bytes, config.max_bytes)
  )
}

/** As many places as one statement names. */
const PLACES_CHUNK = 1_000

const relayRemoved = async (database: Database, record: PlacesRecord, { state }: StreamInfo): Promise<boolean> => {
  // Only sent where there are any.
  const deleted = state.num_deleted > 0 ? state.deleted : []
  let removed = false
  await withPlaces(database, record, 'note', async (writer) => {
    removed = await forgetPlaces(writer, { before: state.first_seq })
    for (let start = 0; start < deleted.length; start += PLACES_CHUNK)
      removed = (await forgetPlaces(writer, { among: deleted.slice(start, start + PLACES_CHUNK) })) || removed
    if (removed) await beginEpoch(writer, record, record)
  })
  return removed
}

type Removed = { readonly before: number } | { readonly among: number[] }

/** @returns whether anything that waits was there */
const forgetPlaces = async (writer: Writer, removed: Removed): Promise<boolean> => {
  const [operator, places] = 'before' in removed ? (['<', removed.before] as const) : (['in', removed.among] as const)
  const deliveries = await writer
    .updateTable('event_deliveries')
    .set({ stream_sequence: null })
    .where('dead_time', 'is', null)
    .where('stream_sequence', operator, places)
    .executeTakeFirst()
  const events = await writer
    .updateTable('events')
    .set({ relayed_time: null, stream_sequence: null })
    .where('taken_time', 'is', null)
    .where('stream_sequence', operator, places)
    .executeTakeFirst()
  return deliveries.numUpdatedRows + events.numUpdatedRows > 0n
}

const beginEpoch = async (
  writer: Writer,
  { epoch }: PlacesRecord,
  values: Omit<PlacesRecord, 'epoch'>,
): Promise<void> => {
  const { created, newest } = values
  await writer
    .updateTable('event_stream')
    .set({ created, newest, epoch: epoch + 1 })
    .execute()
}
