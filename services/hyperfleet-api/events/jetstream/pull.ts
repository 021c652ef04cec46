import { createInbox, type Msg, nanos } from '@nats-io/transport-node'
import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { API_ERRORS } from '../../errors.ts'
import { Problem } from '../../problems/problem.ts'
import type { BrokerConnection } from './broker.ts'

/** A message that a durable consumer gave out. */
export interface Pulled {
  readonly message: Msg
  /** The subject that acknowledges it. */
  readonly reply: string
}

/** The group's durable consumer is not there. */
export class ConsumerMissingError extends errorOf(API_ERRORS, 'ConsumerMissingError') {
  constructor(consumer: string) {
    super(`JetStream has no consumer '${consumer}'`)
  }
}

export interface PullRequest {
  readonly consumer: string
  /** At most so many messages, those that are there. */
  readonly batch: number
  /** Milliseconds to wait, for the first message only; 0 to take what is there. */
  readonly wait: number
  readonly signal: AbortSignal
}

/** How long the server may take beyond what was asked of it, in milliseconds. */
const SERVER_GRACE_MS = 5_000
/** The shortest time that the server waits for. */
const MIN_WAIT_MS = 10

/**
 * Takes messages from a durable consumer. The client library's `fetch` waits for a full batch; a claim is to end with the
 * first message. Protocol: https://docs.nats.io/reference/reference-protocols/nats_api_reference#pull-consumers
 * @throws ConsumerMissingError | Problem unavailable
 */
export const pull = async (
  connected: BrokerConnection,
  { consumer, batch, wait, signal }: PullRequest,
): Promise<Pulled[]> => {
  const pullOnce = (asked: PullOptions, longest: number) => requestMessages(connected, consumer, asked, signal, longest)
  const available = await pullOnce({ batch, no_wait: true }, SERVER_GRACE_MS)
  if (available.length > 0 || wait < MIN_WAIT_MS || signal.aborted) return available
  const first = await pullOnce({ batch: 1, expires: nanos(Math.ceil(wait)) }, wait + SERVER_GRACE_MS)
  if (first.length === 0 || batch === 1) return first
  return [...first, ...(await pullOnce({ batch: batch - 1, no_wait: true }, SERVER_GRACE_MS))]
}

interface PullOptions {
  readonly batch: number
  readonly no_wait?: true
  /** Nanoseconds. */
  readonly expires?: number
}

/** What the server says instead of a message, as a status in the headers. */
const STATUS = { heartbeat: 100, conflict: 409, noResponders: 503 } as const

const requestMessages = async (
  { connection, lost }: BrokerConnection,
  consumer: string,
  asked: PullOptions,
  signal: AbortSignal,
  longest: number,
): Promise<Pulled[]> => {
  const inbox = createInbox()
  const subscription = connection.subscribe(inbox)
  using silence = new AbortScope(lost).within(longest)
  const { signal: silent } = silence
  const end = () => subscription.unsubscribe()
  // What is on its way when the caller leaves is taken still: dropped, it would stay hidden for its acknowledgement time.
  const drain = () => {
    if (!subscription.isClosed()) subscription.drain().catch(end)
  }
  silent.addEventListener('abort', end)
  signal.addEventListener('abort', drain)
  try {
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.${consumer}`, JSON.stringify(asked), { reply: inbox })
    const pulled: Pulled[] = []
    for await (const message of subscription) {
      // By its subject: the headers of a message are what any client wrote.
      if (message.subject !== inbox) {
        pulled.push({ message, reply: message.reply ?? '' })
        if (pulled.length === asked.batch) return pulled
        continue
      }
      const { code, description } = message.headers ?? { code: 0, description: '' }
      if (code === STATUS.heartbeat) continue
      if (code === STATUS.noResponders || (code === STATUS.conflict && /deleted/i.test(description)))
        throw new ConsumerMissingError(consumer)
      return pulled
    }
    // Ended by us. What a server that fell silent gave out meanwhile comes again after its acknowledgement time.
    if (pulled.length === 0 && silent.aborted)
      throw new Problem('unavailable', 'NATS went away while the claim waited, try again: the events are safe')
    return pulled
  } finally {
    silent.removeEventListener('abort', end)
    signal.removeEventListener('abort', drain)
    subscription.unsubscribe()
  }
}
