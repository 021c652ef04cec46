import { foreignHeaders } from '#lib/nats/foreign-headers.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Entities } from '../../model/entity.ts'
import type { Database } from '../../storage/database.ts'
import type { SharedTime } from '../../storage/shared-time.ts'
import { readConsumer } from '../consumers.ts'
import type { ReceivedEvent, ReceiveRequest } from '../queue.ts'
import { asUnavailable, type Broker, type BrokerConnection } from './broker.ts'
import { ensureDurable } from './durable-consumers.ts'
import { lockPulled, type PulledMessage } from './lock-pulled.ts'
import { SEQUENCE_HEADER } from './message.ts'
import { ConsumerMissingError, type Pulled, pull } from './pull.ts'
import { subjectOf } from './relay.ts'
import type { Replies } from './replies.ts'

/** Milliseconds before JetStream is asked again when it did not wait. */
const PULL_RETRY_DELAY_MS = 50

export interface ReceiveOptions {
  readonly broker: Broker
  readonly replies: Replies
  readonly database: Database
  readonly entities: Entities
  readonly clock: Clock
  readonly time: SharedTime
  readonly newId: () => string
  readonly log: Logger
}

/** Pulls messages until one is for the group, or the wait is over. @throws Problem notFound, unavailable */
export const receive = async (
  request: ReceiveRequest,
  options: ReceiveOptions,
  signal: AbortSignal,
): Promise<ReceivedEvent[]> => {
  const { broker, replies, database, clock, time, newId, log } = options
  const { consumer, visibility } = request
  const deadline = monotonic(clock) + request.wait
  for (;;) {
    const { maxDeliveries } = await readConsumer(database, consumer)
    const connected = broker.connected()
    const left = Math.max(0, deadline - monotonic(clock))
    const pulled = await asUnavailable(() => pullFor(connected, request, left, options, signal), log)
    const lock = { consumer, maxDeliveries, visibility, id: newId(), time }
    const outcomes = await lockPulled(database, lock, pulled.map(parsePulled))
    for (const outcome of outcomes) replies.answer(outcome, visibility)
    const events = outcomes.flatMap((outcome) => (outcome.type === 'received' ? [outcome.event] : []))
    // Messages that came and are not for the group don't end the wait.
    if (events.length > 0 || signal.aborted) return events
    if (pulled.length > 0) continue
    if (deadline <= monotonic(clock)) return events
    // The server ended the wait early: it has too many waiting claims, or is about to stop.
    await clock.sleep(PULL_RETRY_DELAY_MS, signal)
  }
}

const pullFor = async (
  connected: BrokerConnection,
  { consumer, max }: ReceiveRequest,
  wait: number,
  { database, entities }: ReceiveOptions,
  signal: AbortSignal,
): Promise<Pulled[]> => {
  const attempt = () => pull(connected, { consumer, batch: max, wait, signal })
  try {
    return await attempt()
  } catch (error) {
    if (!(error instanceof ConsumerMissingError)) throw error
    const { kind } = await readConsumer(database, consumer)
    await ensureDurable(connected.manager, consumer, subjectOf(entities, kind), 'everything')
    return attempt()
  }
}

/** Every client may publish to the stream: a message that isn't the relay's has no row, its sequence is none. */
const parsePulled = ({ message, reply }: Pulled): PulledMessage => {
  const sequence = Number(foreignHeaders(message).get(SEQUENCE_HEADER))
  return { sequence: Number.isSafeInteger(sequence) ? sequence : 0, reply }
}
