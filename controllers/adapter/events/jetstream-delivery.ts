/** What becomes of a message of JetStream: it is delivered, or kept as a dead letter. */
import type { JsMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { messageOf } from '#lib/errors/message-of.ts'
import { foreignHeaders } from '#lib/nats/foreign-headers.ts'
import { REPLAYS_HEADER, storeDeadLetter } from './dead-letters.ts'
import { NotAnEventError, parseEventText } from './reconcile-event.ts'
import { redeliveryDelay } from './redelivery.ts'
import { countDeliveries, recordRelease } from './released-deliveries.ts'
import { type Delivery, MAX_DEAD_LETTER_CHARS, MAX_DELIVERIES, type SourceOptions } from './source.ts'

/** After a dead letter that could not be stored, in milliseconds. */
const DEAD_LETTER_RETRY_MS = 30_000

/** The delivery of a message; undefined when it was given up. */
export const toDelivery = async (
  connection: NatsConnection,
  message: JsMsg,
  options: SourceOptions,
): Promise<Delivery | undefined> => {
  const { consumer, maxDeliveries = MAX_DELIVERIES } = options
  const giveUp = (problem: string, deliveries: number) =>
    moveToDeadLetters(connection, message, options, problem, deliveries)
  const { deliveryCount } = message.info
  const isFew = deliveryCount <= maxDeliveries
  const before = isFew ? 0 : (await countKnown(connection, consumer, message)) - 1
  if (before >= maxDeliveries) {
    await giveUp(`it was delivered ${before} times and never acknowledged`, before)
    return undefined
  }
  try {
    return {
      event: parseEventText(message.string()),
      acknowledge: async () => message.ack(),
      extend: async () => message.working(),
      giveBack: async (delay) => {
        const deliveries = await countKnown(connection, consumer, message)
        const problem = `the outcome of its run could not be reported, ${deliveries} times`
        if (deliveries >= maxDeliveries) await giveUp(problem, deliveries)
        else message.nak(redeliveryDelay(delay, deliveries))
      },
      release: async () => {
        // What can't be written down is one delivery more.
        await recordRelease(connection, consumer, message).catch(() => {})
        message.nak()
      },
    }
  } catch (error) {
    if (!(error instanceof NotAnEventError)) throw error
    await giveUp(error.message, deliveryCount)
    return undefined
  }
}

/** Keeps the message elsewhere, and has JetStream give it up. What can't be kept comes again. */
const moveToDeadLetters = async (
  connection: NatsConnection,
  message: JsMsg,
  { consumer, onDeadLetter }: SourceOptions,
  problem: string,
  deliveries: number,
): Promise<void> => {
  const { subject, info, data } = message
  const { stream, streamSequence: sequence } = info
  const replays = Number(foreignHeaders(message).get(REPLAYS_HEADER)) || 0
  try {
    const counts = { sequence, deliveries, replays }
    await storeDeadLetter(connection, { consumer, subject, stream, ...counts, problem, body: data })
    message.term(problem.slice(0, MAX_DEAD_LETTER_CHARS))
    onDeadLetter({ problem, text: message.string().slice(0, MAX_DEAD_LETTER_CHARS) })
  } catch (error) {
    message.nak(DEAD_LETTER_RETRY_MS)
    const why = `it can't be stored as a dead letter (${messageOf(error)}) and comes again`
    onDeadLetter({ problem: `${problem}; ${why}`, text: '' })
  }
}

/** Deliveries that count; 1 when it can't be known: nothing is given up for want of an answer. */
const countKnown = (connection: NatsConnection, consumer: string, message: JsMsg): Promise<number> =>
  countDeliveries(connection, consumer, message).catch(() => 1)
