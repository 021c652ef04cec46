/** Events from NATS JetStream, to which the API relays them: a durable consumer of the stream `hyperfleet-events`. */
import {
  AckPolicy,
  type Consumer,
  DeliverPolicy,
  JetStreamApiError,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { NotAnEventError, parseEventText, type ReconcileEvent } from '../event.ts'
import { type Delivery, type EventSource, LETTER_LENGTH, type SourceOptions } from './source.ts'

export interface JetStreamOptions extends SourceOptions {
  readonly url: string
  /** Labels are not in messages: whether an event is about a resource of ours is asked of the API. */
  readonly name: string
}

const STREAM = 'hyperfleet-events'
const SUBJECTS = 'hyperfleet.events'
/** How long a pull waits for the first message, in milliseconds. */
const WAIT = 20_000
/** How often a message is delivered before JetStream gives it up. */
const DELIVERIES = 10

export const jetStreamSource = (options: JetStreamOptions): EventSource => {
  const { url, name, onDeadLetter } = options
  let opened: Promise<{ readonly connection: NatsConnection; readonly consumer: Consumer }> | undefined

  const open = async () => {
    const connection = await connect({ servers: url, name, maxReconnectAttempts: -1 })
    try {
      return { connection, consumer: await durable(connection, options) }
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  const parsed = (message: JsMsg): ReconcileEvent | undefined => {
    try {
      return parseEventText(message.string())
    } catch (error) {
      if (!(error instanceof NotAnEventError)) throw error
      onDeadLetter({ problem: error.message, text: message.string().slice(0, LETTER_LENGTH) })
      message.term(error.message)
      return undefined
    }
  }

  /** Once; again after it failed. */
  const connected = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }

  return {
    async open(signal) {
      await connected()
      signal.throwIfAborted()
    },
    async take(max, signal) {
      const { consumer } = await connected()
      signal.throwIfAborted()
      const messages = await consumer.fetch({ max_messages: max, expires: WAIT })
      const stop = () => messages.stop()
      signal.addEventListener('abort', stop, { once: true })
      const deliveries: Delivery[] = []
      try {
        for await (const message of messages) {
          const event = parsed(message)
          if (event !== undefined) deliveries.push(deliveryOf(message, event))
          // What is there is worked on now; the pull goes on with the next call.
          if (messages.getPending() === 0 || deliveries.length > 0) break
        }
      } finally {
        signal.removeEventListener('abort', stop)
      }
      signal.throwIfAborted()
      return deliveries
    },
    async close() {
      const { connection } = (await opened?.catch(() => undefined)) ?? {}
      await connection?.close()
    },
  }
}

const deliveryOf = (message: JsMsg, event: ReconcileEvent): Delivery => ({
  event,
  acknowledge: async () => message.ack(),
  keep: async () => message.working(),
  giveBack: async (delay) => message.nak(delay),
})

/** Makes the consumer, or brings one that is there up to date. @throws JetStreamApiError */
const durable = async (
  connection: NatsConnection,
  { consumer, resourceType, visibility }: JetStreamOptions,
): Promise<Consumer> => {
  const { consumers } = await jetstreamManager(connection)
  const changeable = {
    ack_wait: nanos(visibility),
    max_deliver: DELIVERIES,
    filter_subject: `${SUBJECTS}.${resourceType}`,
  }
  try {
    await consumers.info(STREAM, consumer)
    await consumers.update(STREAM, consumer, changeable)
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error
    await consumers.add(STREAM, {
      ...changeable,
      durable_name: consumer,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
    })
  }
  return jetstream(connection).consumers.get(STREAM, consumer)
}
