/** What the operator wants of this device: its keys of fleet-desired, all of them first and then every change. */
import { DeliverPolicy, type JsMsg, jetstream } from '@nats-io/jetstream'
import { createInbox, type NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { keyIn, streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { inboxOf } from './inbox.ts'

export interface DesiredListener {
  /** An entry as it is now, be it new or not. */
  onEntry(key: string, bytes: Uint8Array): Promise<void>
  /** A key was deleted, now or before. Keys of which nothing is said were not deleted: their store was lost. */
  onDeleted(key: string): Promise<void>
  /** Everything that there was at the beginning has been told. */
  onReplayed(): void
}

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
    for await (const { type } of messages.status()) if (type === 'stream_not_found') stop()
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
  if (isDeletion(message)) await listener.onDeleted(key)
  else await listener.onEntry(key, message.data)
}

/** NATS: ADR-8 for what clients delete, ADR-43 for what the server removes. */
const isDeletion = ({ headers }: JsMsg): boolean =>
  ['DEL', 'PURGE'].includes(headers?.get('KV-Operation') ?? '') || (headers?.get('Nats-Marker-Reason') ?? '') !== ''
