/**
 * JetStream counts every delivery, also one that a manager gives back because it is told to stop, and its count can't be lowered. So
 * each such delivery is written down, one message each, and taken off the count when an event is about to be given up: ADAPTER-22.
 */
import { type JsMsg, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { type NatsConnection, nanos, TimeoutError } from '@nats-io/transport-node'
import { ignoreNotFound } from '#lib/nats/ignore-not-found.ts'

export const RELEASED_STREAM = 'hyperfleet-released'
const SUBJECT = 'hyperfleet.released'
/** As long as dead letters are kept: longer than the stream of events keeps what is delivered, in milliseconds. */
const RETENTION_MS = 30 * 24 * 3_600_000
/** How long a manager that stops waits for the answer, in milliseconds. */
const TIMEOUT_MS = 2_000

/** The sequence alone would be another message's once the stream was made anew. */
const subjectOf = (consumer: string, { info }: JsMsg): string =>
  `${SUBJECT}.${consumer}.${info.streamSequence}-${info.timestampNanos}`

/** This delivery does not count. Once, however often it is called. @throws Error when it can't be written down */
export const recordRelease = async (connection: NatsConnection, consumer: string, message: JsMsg): Promise<void> => {
  const subject = subjectOf(consumer, message)
  const publish = () =>
    jetstream(connection).publish(subject, '', {
      msgID: `${subject}/${message.info.deliveryCount}`,
      expect: { streamName: RELEASED_STREAM },
      timeout: TIMEOUT_MS,
    })
  try {
    await publish()
  } catch (error) {
    // A manager that stops has no time for a server that is away.
    if (error instanceof TimeoutError) throw error
    // There is no stream before the first.
    await ensureStream(connection)
    await publish()
  }
}

/** How often a message was delivered to the consumer and not released, this time included. @throws Error when it can't be known */
export const countDeliveries = async (
  connection: NatsConnection,
  consumer: string,
  message: JsMsg,
): Promise<number> => {
  const { deliveryCount } = message.info
  if (deliveryCount === 1) return 1
  const { streams } = await jetstreamManager(connection)
  const subject = subjectOf(consumer, message)
  const info = await streams.info(RELEASED_STREAM, { subjects_filter: subject }).catch(ignoreNotFound)
  return Math.max(1, deliveryCount - (info?.state.subjects?.[subject] ?? 0))
}

/** With the consumer its counts begin anew. @throws Error */
export const forgetReleases = async (connection: NatsConnection, consumer: string): Promise<void> => {
  const { streams } = await jetstreamManager(connection)
  await streams.purge(RELEASED_STREAM, { filter: `${SUBJECT}.${consumer}.>` }).catch(ignoreNotFound)
}

const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection, { timeout: TIMEOUT_MS, checkAPI: false })
  if ((await streams.info(RELEASED_STREAM).catch(ignoreNotFound)) !== undefined) return
  const settings = { storage: StorageType.File, max_age: nanos(RETENTION_MS) }
  await streams.add({ name: RELEASED_STREAM, subjects: [`${SUBJECT}.>`], ...settings })
}
