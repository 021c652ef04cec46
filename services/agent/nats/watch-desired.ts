/** What the operator wants of this device: its keys of fleet-desired, all of them first and then every change. */
import { DeliverPolicy, type JsMsg, jetstream } from '@nats-io/jetstream'
import { createInbox, type NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { keyIn, streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import type { StorePosition } from '../evaluate-deletion.ts'
import { inboxOf } from './inbox.ts'

export interface DesiredListener {
  /** An entry as it is now, be it new or not. */
  onEntry(key: string, bytes: Uint8Array, position: StorePosition): Promise<void>
  /** A key was deleted, now or before. Keys of which nothing is said were not deleted: their store was lost. */
  onDeleted(key: string, position: StorePosition): Promise<void>
  /** The server removed a value by itself, as one that expired: its operator did not delete it. */
  onLost(key: string): void
  /** Everything that there was at the beginning has been told. */
  onReplayed(): void
}

/**
 * What an ordered consumer says when it may have missed something. It begins again behind the revision that it saw last, and in a
 * bucket that was made anew all revisions are lower: so the watch ends, and the next one reads everything. AGENT-28.
 */
const LOSSES: ReadonlySet<string> = new Set([
  'stream_not_found',
  'consumer_deleted',
  'heartbeats_missed',
  'ordered_consumer_recreated',
])

/**
 * Tells the listener, one after the other, until the signal aborts or the stream of the bucket is lost. An ordered consumer
 * whose filter is a part of the subject that creates it: so a server can allow a device its own keys alone.
 * @throws JetStreamApiError, such as for a bucket that is not there yet
 */
export const watchDesired = async (
  connection: NatsConnection,
  device: string,
  listener: DesiredListener,
  signal: AbortSignal,
): Promise<void> => {
  const bucket = BUCKETS.desired.name
  const consumer = await jetstream(connection).consumers.getPushConsumer(streamOf(bucket), {
    filter_subjects: subjectOf(bucket, keysOfDevice(device)),
    deliver_policy: DeliverPolicy.LastPerSubject,
    deliver_prefix: createInbox(inboxOf(device)),
  })
  let left = (await consumer.info(true)).num_pending
  const messages = await consumer.consume()
  const stop = (): void => messages.stop()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const lost = (async () => {
    for await (const { type } of messages.status()) if (LOSSES.has(type)) stop()
  })()
  try {
    if (left === 0) listener.onReplayed()
    for await (const message of messages) {
      if (signal.aborted) break
      await notify(message, bucket, listener)
      left -= 1
      if (left === 0) listener.onReplayed()
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    await lost
  }
}

const notify = async (message: JsMsg, bucket: string, listener: DesiredListener): Promise<void> => {
  const key = keyIn(bucket, message.subject)
  if (key === undefined) return
  const position = { revision: message.seq, at: message.time.getTime() }
  // NATS: ADR-8 for what clients delete, ADR-43 for what the server removes.
  if (['DEL', 'PURGE'].includes(message.headers?.get('KV-Operation') ?? '')) await listener.onDeleted(key, position)
  else if ((message.headers?.get('Nats-Marker-Reason') ?? '') !== '') listener.onLost(key)
  else await listener.onEntry(key, message.data, position)
}
