/** Events from NATS JetStream, to which the API relays them: a durable consumer of the stream `hyperfleet-events`. */

import {
  AckPolicy,
  type Consumer,
  type ConsumerAPI,
  type ConsumerConfig,
  DeliverPolicy,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { EVENT_STREAM, EVENT_SUBJECTS } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { readCredentials, tlsOptions } from '#lib/nats/security.ts'
import { serverOf } from '#lib/nats/url.ts'
import { toDelivery } from './jetstream-delivery.ts'
import { type NatsFiles, refuseBlockedServer } from './nats-allowlist.ts'
import { forgetReleases } from './released-deliveries.ts'
import type { Delivery, EventSource, SourceOptions } from './source.ts'

export interface JetStreamOptions extends SourceOptions {
  readonly url: string
  readonly files?: NatsFiles
  /** Why the server must not be connected to; undefined when it may. */
  readonly refusal?: string | undefined
  /** Of the connection, as the server lists it. Messages have no labels: a run asks the API whether the task selects the resource. */
  readonly name: string
  /** The consumer of earlier releases: a new one starts behind what it acknowledged, as the stream keeps days of events. */
  readonly legacyConsumer?: string | undefined
}

interface Connected {
  readonly connection: NatsConnection
  readonly consumer: Consumer
}

/** How long a pull waits for the first message. */
const PULL_WAIT_MS = 20_000

export const jetStreamSource = (options: JetStreamOptions): EventSource => {
  const { url, files = {}, refusal, name } = options
  let connection: NatsConnection | undefined
  let consumer: Consumer | undefined

  /** A connection that was refused too often is closed for good, and another one is made. */
  const ensureConnection = async (): Promise<NatsConnection> => {
    if (connection === undefined || connection.isClosed()) {
      consumer = undefined
      if (refusal !== undefined) throw new Error(refusal)
      await refuseBlockedServer(url)
      const authenticator = await readCredentials(files.credentials)
      connection = await connect({
        ...serverOf(url),
        ...tlsOptions(url, files.ca),
        ...(authenticator !== undefined && { authenticator }),
        name,
        maxReconnectAttempts: -1,
      })
    }
    return connection
  }

  /** Makes what is missing: both the first time, and what is gone since. */
  const ensureConsumer = async (): Promise<Connected> => {
    const connection = await ensureConnection()
    consumer ??= await ensureDurable(connection, options)
    return { connection, consumer }
  }

  /** One message a pull: `fetch` gives out those of a batch one by one, and drops what is left of it when its reader has seen enough. */
  const pull = async (from: Connected, signal: AbortSignal): Promise<readonly Delivery[]> => {
    const messages = await from.consumer.fetch({ max_messages: 1, expires: PULL_WAIT_MS })
    const stop = () => messages.stop()
    signal.addEventListener('abort', stop, { once: true })
    const received: Delivery[] = []
    try {
      for await (const message of messages) {
        const delivery = await toDelivery(from.connection, message, options)
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
        await consumers.delete(EVENT_STREAM, options.consumer)
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
    filter_subject: `${EVENT_SUBJECTS}.${resourceType}`,
  }
  try {
    await consumers.info(EVENT_STREAM, consumer)
    await consumers.update(EVENT_STREAM, consumer, changeable)
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error
    await consumers.add(EVENT_STREAM, {
      ...changeable,
      durable_name: consumer,
      ack_policy: AckPolicy.Explicit,
      ...(await startPosition(consumers, legacyConsumer)),
    })
  }
  return jetstream(connection).consumers.get(EVENT_STREAM, consumer)
}

/** Where a new consumer begins: behind what the former one has acknowledged, or with the first message. */
const startPosition = async (
  consumers: ConsumerAPI,
  legacyConsumer: string | undefined,
): Promise<Partial<ConsumerConfig>> => {
  const all = { deliver_policy: DeliverPolicy.All }
  if (legacyConsumer === undefined) return all
  try {
    const { ack_floor } = await consumers.info(EVENT_STREAM, legacyConsumer)
    return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: ack_floor.stream_seq + 1 }
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error
    return all
  }
}
