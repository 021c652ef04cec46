/** What the operator wants of this device: its keys of fleet-desired, all of them first and then every change. */
import { JetStreamApiCodes, JetStreamApiError, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { createInbox, type NatsConnection, nanos, nuid, PermissionViolationError } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceConsumer, IDLE_HEARTBEAT_MS, inboxOf } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { toEntry } from '#lib/nats/bucket-entries.ts'
import { streamOf } from '#lib/nats/kv-subjects.ts'
import type { StorePosition } from '../evaluate-deletion.ts'

/** An entry as the bucket has it. */
export interface WrittenEntry {
  readonly bytes: Uint8Array
  /** Empty when it has none. */
  readonly signature: string
  readonly position: StorePosition
}

export interface DesiredListener {
  /** An entry as it is now, be it new or not. */
  onEntry(key: string, entry: WrittenEntry): Promise<void>
  /** A key was deleted, now or before. Keys of which nothing is said were not deleted: their store was lost. */
  onDeleted(key: string, position: StorePosition): Promise<void>
  /** The server removed a value by itself, as one that expired: its operator did not delete it. */
  onLost(key: string): void
  /** Everything that there was at the beginning has been told. */
  onReplayed(): void
}

/** What a consumer says when it may have missed something: the watch ends, and the next one reads everything. AGENT-28. */
const LOSSES: ReadonlySet<string> = new Set(['stream_not_found', 'consumer_deleted', 'heartbeats_missed'])

/**
 * Makes the consumer of the device, in place of the one before. Its name and filter are parts of the subject that makes it: so a server
 * can allow a device its own keys alone, and one consumer. AGENT-40.
 * @returns how many entries there are to begin with @throws JetStreamApiError, such as for a bucket that is not there yet
 */
const makeConsumer = async (connection: NatsConnection, device: string, deliverSubject: string): Promise<number> => {
  const stream = streamOf(BUCKETS.desired.name)
  const { consumers } = await jetstreamManager(connection, { checkAPI: false })
  const name = await consumers.delete(stream, device).then(
    () => device,
    (error: unknown) => {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound) return device
      // A server whose users were written by an earlier release: it allows any name.
      if (isNotPermitted(error)) return nuid.next()
      throw error
    },
  )
  const made = await consumers.add(stream, deviceConsumer(name, device, deliverSubject))
  return made.num_pending
}

const isNotPermitted = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error instanceof Error && isNotPermitted(error.cause))

/**
 * Tells the listener, one after the other, until the signal aborts or something may have been missed.
 * @throws JetStreamApiError, such as for a bucket that is not there yet
 */
export const watchDesired = async (
  connection: NatsConnection,
  device: string,
  listener: DesiredListener,
  signal: AbortSignal,
): Promise<void> => {
  const bucket = BUCKETS.desired.name
  const deliver_subject = createInbox(inboxOf(device))
  let left = await makeConsumer(connection, device, deliver_subject)
  const consumer = await jetstream(connection).consumers.getBoundPushConsumer({
    deliver_subject,
    idle_heartbeat: nanos(IDLE_HEARTBEAT_MS),
  })
  const messages = await consumer.consume()
  const stop = (): void => messages.stop()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const lost = (async () => {
    for await (const { type } of messages.status()) if (LOSSES.has(type)) stop()
  })()
  try {
    if (left === 0) listener.onReplayed()
    let delivered = 0
    for await (const message of messages) {
      delivered += 1
      if (signal.aborted || message.info.deliverySequence !== delivered) break
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
  const entry = toEntry(bucket, message)
  if (entry === undefined) return
  const position = { revision: entry.revision, at: entry.at.getTime() }
  switch (entry.kind) {
    case 'Deleted':
      return listener.onDeleted(entry.key, position)
    case 'Expired':
      return listener.onLost(entry.key)
    case 'Value':
    case 'Unreadable':
      return listener.onEntry(entry.key, { bytes: entry.value, signature: entry.header(SIGNATURE_HEADER), position })
  }
}
