/** Events from NATS JetStream, to which the API relays them: a durable consumer of the stream `hyperfleet-events`. */

import {
  AckPolicy,
  type Consumer,
  type ConsumerAPI,
  type ConsumerConfig,
  DeliverPolicy,
  JetStreamApiError,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { serverOf } from '#lib/nats/url.ts'
import { REPLAYS_HEADER, storeDeadLetter } from './dead-letters.ts'
import { NotAnEventError, parseEventText } from './reconcile-event.ts'
import { redeliveryDelay } from './redelivery.ts'
import { countDeliveries, forgetReleases, recordRelease } from './released-deliveries.ts'
import { type Delivery, type EventSource, MAX_DEAD_LETTER_CHARS, MAX_DELIVERIES, type SourceOptions } from './source.ts'

export interface JetStreamOptions extends SourceOptions {
  readonly url: string
  /** Of the connection, as the server lists it. Messages have no labels: a run asks the API whether the task selects the resource. */
  readonly name: string
  /** The consumer of earlier releases: a new one starts behind what it acknowledged, as the stream keeps days of events. */
  readonly legacyConsumer?: string | undefined
}

interface Connected {
  readonly connection: NatsConnection
  readonly consumer: Consumer
}

const STREAM = 'hyperfleet-events'
const SUBJECTS = 'hyperfleet.events'
/** How long a pull waits for the first message. */
const PULL_WAIT_MS = 20_000
/** After a dead letter that could not be stored, in milliseconds. */
const DEAD_LETTER_RETRY_MS = 30_000

export const jetStreamSource = (options: JetStreamOptions): EventSource => {
  const { url, name, maxDeliveries = MAX_DELIVERIES, onDeadLetter } = options
  let connection: NatsConnection | undefined
  let consumer: Consumer | undefined

  /** A connection that was refused too often is closed for good, and another one is made. */
  const ensureConnection = async (): Promise<NatsConnection> => {
    if (connection === undefined || connection.isClosed()) {
      consumer = undefined
      connection = await connect({ ...serverOf(url), name, maxReconnectAttempts: -1 })
    }
    return connection
  }

  /** Makes what is missing: both the first time, and what is gone since. */
  const ensureConsumer = async (): Promise<Connected> => {
    const connection = await ensureConnection()
    consumer ??= await ensureDurable(connection, options)
    return { connection, consumer }
  }

  /** Keeps the message elsewhere, and has JetStream give it up. What can't be kept comes again. */
  const moveToDeadLetters = async (
    connection: NatsConnection,
    message: JsMsg,
    problem: string,
    deliveries: number,
  ): Promise<void> => {
    const { subject, headers, info, data } = message
    const { stream, streamSequence: sequence } = info
    const replays = Number(headers?.get(REPLAYS_HEADER) || 0)
    try {
      const counts = { sequence, deliveries, replays }
      await storeDeadLetter(connection, { consumer: options.consumer, subject, stream, ...counts, problem, body: data })
      message.term(problem.slice(0, MAX_DEAD_LETTER_CHARS))
      onDeadLetter({ problem, text: message.string().slice(0, MAX_DEAD_LETTER_CHARS) })
    } catch (error) {
      message.nak(DEAD_LETTER_RETRY_MS)
      const why = error instanceof Error ? error.message : String(error)
      onDeadLetter({ problem: `${problem}; it can't be stored as a dead letter (${why}) and comes again`, text: '' })
    }
  }

  /** Deliveries that count; 1 when it can't be known: nothing is given up for want of an answer. */
  const countKnown = (connection: NatsConnection, message: JsMsg): Promise<number> =>
    countDeliveries(connection, options.consumer, message).catch(() => 1)

  /** The delivery of a message; undefined when it was given up. */
  const toDelivery = async (connection: NatsConnection, message: JsMsg): Promise<Delivery | undefined> => {
    const { deliveryCount } = message.info
    const isFew = deliveryCount <= maxDeliveries
    const before = isFew ? 0 : (await countKnown(connection, message)) - 1
    if (before >= maxDeliveries) {
      const problem = `it was delivered ${before} times and never acknowledged`
      await moveToDeadLetters(connection, message, problem, before)
      return undefined
    }
    try {
      return {
        event: parseEventText(message.string()),
        acknowledge: async () => message.ack(),
        extend: async () => message.working(),
        giveBack: async (delay) => {
          const deliveries = await countKnown(connection, message)
          const problem = `the outcome of its run could not be reported, ${deliveries} times`
          if (deliveries >= maxDeliveries) await moveToDeadLetters(connection, message, problem, deliveries)
          else message.nak(redeliveryDelay(delay, deliveries))
        },
        release: async () => {
          // What can't be written down is one delivery more.
          await recordRelease(connection, options.consumer, message).catch(() => {})
          message.nak()
        },
      }
    } catch (error) {
      if (!(error instanceof NotAnEventError)) throw error
      await moveToDeadLetters(connection, message, error.message, deliveryCount)
      return undefined
    }
  }

  /** One message a pull: `fetch` gives out those of a batch one by one, and drops what is left of it when its reader has seen enough. */
  const pull = async (from: Connected, signal: AbortSignal): Promise<readonly Delivery[]> => {
    const messages = await from.consumer.fetch({ max_messages: 1, expires: PULL_WAIT_MS })
    const stop = () => messages.stop()
    signal.addEventListener('abort', stop, { once: true })
    const received: Delivery[] = []
    try {
      for await (const message of messages) {
        const delivery = await toDelivery(from.connection, message)
        if (delivery !== undefined) received.push(delivery)
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
    return received
  }

  return {
    async open(signal) {
      await ensureConsumer()
      signal.throwIfAborted()
    },
    async take(_max, signal) {
      const from = await ensureConsumer()
      signal.throwIfAborted()
      try {
        return await pull(from, signal)
      } catch (error) {
        // It may have been deleted: then the next attempt creates it.
        consumer = undefined
        throw error
      }
    },
    async remove(signal) {
      const { consumers } = await jetstreamManager(await ensureConnection())
      signal.throwIfAborted()
      consumer = undefined
      try {
        await forgetReleases(await ensureConnection(), options.consumer)
        await consumers.delete(STREAM, options.consumer)
      } catch (error) {
        if (!(error instanceof JetStreamApiError && error.status === 404)) throw error
      }
    },
    async close() {
      await connection?.close()
    },
  }
}

/** Makes the consumer, or brings one that is there up to date. @throws JetStreamApiError */
const ensureDurable = async (
  connection: NatsConnection,
  { consumer, legacyConsumer, resourceType, visibilityMs }: JetStreamOptions,
): Promise<Consumer> => {
  const { consumers } = await jetstreamManager(connection)
  const changeable = {
    ack_wait: nanos(visibilityMs),
    // Counted here: JetStream would forget a message without keeping it.
    max_deliver: -1,
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
      ...(await startPosition(consumers, legacyConsumer)),
    })
  }
  return jetstream(connection).consumers.get(STREAM, consumer)
}

/** Where a new consumer begins: behind what the former one has acknowledged, or with the first message. */
const startPosition = async (
  consumers: ConsumerAPI,
  legacyConsumer: string | undefined,
): Promise<Partial<ConsumerConfig>> => {
  const all = { deliver_policy: DeliverPolicy.All }
  if (legacyConsumer === undefined) return all
  try {
    const { ack_floor } = await consumers.info(STREAM, legacyConsumer)
    return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: ack_floor.stream_seq + 1 }
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error
    return all
  }
}
