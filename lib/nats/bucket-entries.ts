/**
 * Reads entries of a bucket that clients with fewer rights may have written to: each message is read by itself, so that one of any
 * bytes is an entry that can't be read and no more. The KV client would end with it. NATS-11.
 */
import { type ConsumerMessages, DeliverPolicy, type JsMsg, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { foreignHeaders } from './foreign-headers.ts'
import { keyIn, streamOf, subjectOf } from './kv-subjects.ts'

/** An entry as it was written. */
export interface BucketEntry {
  readonly key: string
  /** Expired: the server removed the value by itself. */
  readonly kind: 'Value' | 'Deleted' | 'Expired' | 'Unreadable'
  /** Why it is unreadable; else empty. */
  readonly problem: string
  /** A part of a larger buffer of the network, all of which stays as long as this does: keep a copy. */
  readonly value: Uint8Array
  readonly revision: number
  /** By the clock of the server. */
  readonly at: Date
  /** How many more there were when it was sent. */
  readonly pending: number
}

/** NATS: ADR-8 for what clients write, ADR-43 for what the server removes. @returns undefined for a message of no such bucket */
export const toEntry = (bucket: string, message: JsMsg): BucketEntry | undefined => {
  const key = keyIn(bucket, message.subject)
  if (key === undefined) return undefined
  const { seq: revision, time: at, data: value, info } = message
  return { key, ...kindOf(message), value, revision, at, pending: info.pending }
}

const kindOf = (message: JsMsg): Pick<BucketEntry, 'kind' | 'problem'> => {
  const headers = foreignHeaders(message)
  if (headers.problem !== undefined) return { kind: 'Unreadable', problem: headers.problem }
  const operation = headers.get('KV-Operation')
  if (operation === 'DEL' || operation === 'PURGE') return { kind: 'Deleted', problem: '' }
  if (headers.get('Nats-Marker-Reason') !== '') return { kind: 'Expired', problem: '' }
  if (operation === '' || operation === 'PUT') return { kind: 'Value', problem: '' }
  return { kind: 'Unreadable', problem: `it is no operation of a bucket: ${JSON.stringify(operation.slice(0, 50))}` }
}

/** Entries as they come, until it is stopped or the connection breaks. */
export interface EntryFeed {
  readonly messages: ConsumerMessages
  /** How many there are to begin with. */
  readonly count: number
}

/** @param keys A pattern of subjects. @param from The first revision; the last one of each key when undefined. @throws what NATS answers */
export const openEntries = async (
  connection: NatsConnection,
  bucket: string,
  keys: string,
  from?: number,
): Promise<EntryFeed> => {
  const consumer = await jetstream(connection).consumers.getPushConsumer(streamOf(bucket), {
    filter_subjects: [subjectOf(bucket, keys)],
    ...(from === undefined ? { deliver_policy: DeliverPolicy.LastPerSubject } : { opt_start_seq: from }),
  })
  const { num_pending: count } = await consumer.info(true)
  return { messages: await consumer.consume(), count }
}

/** The entries that there are, deletions included; their values are copies. @param keys A pattern of subjects. @throws what NATS answers */
export const readEntries = async (
  connection: NatsConnection,
  bucket: string,
  keys: string,
): Promise<readonly BucketEntry[]> => {
  const { messages, count } = await openEntries(connection, bucket, keys)
  const entries: BucketEntry[] = []
  const stop = () => messages.stop()
  // Entries that go while they are read never come: then the server says that it has no more.
  const idle = (async () => {
    for await (const { type } of messages.status()) if (type === 'heartbeat') stop()
  })()
  try {
    // The client stops as the last of what is iterated, so that is iterated in any case.
    if (count === 0) stop()
    for await (const message of messages) {
      const entry = toEntry(bucket, message)
      if (entry !== undefined) entries.push({ ...entry, value: entry.value.slice() })
      if (message.info.pending === 0) break
    }
    return entries
  } finally {
    stop()
    await idle
  }
}
