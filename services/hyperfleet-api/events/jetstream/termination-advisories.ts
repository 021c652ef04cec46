import type { NatsConnection } from '@nats-io/transport-node'
import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { detach } from '#lib/process/detach.ts'
import type { Logger } from '#operator/model/log.ts'
import { timestampOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import type { Broker } from './broker.ts'

/** What JetStream tells when a client gives a message up. Schema: io.nats.jetstream.advisory.v1.terminated */
interface TerminatedAdvisory {
  readonly consumer: string
  readonly stream_seq: number
  readonly deliveries: number
}

interface FollowerOptions {
  readonly database: Database
  readonly now: () => Date
  readonly log: Logger
}

const SUBJECT = `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${EVENT_STREAM}.*`

/**
 * Makes a dead letter of what a client that binds a group's durable consumer gives up (`+TERM`): a message that it will
 * never understand. JetStream tells it once; one replica hears it. A user of NATS that may not subscribe to it costs just
 * that: such an event then counts as acknowledged (API-71).
 * @returns how to subscribe where that is not done yet; a refusal is logged once until it works
 */
export const followTerminations = (broker: Broker, options: FollowerOptions): (() => void) => {
  let isFollowing = false
  let logged: string | undefined
  const run = async (connection: NatsConnection): Promise<void> => {
    isFollowing = true
    try {
      await readAdvisories(connection, options)
      logged = undefined
    } catch (error) {
      const message = messageOf(error)
      if (message !== logged)
        options.log.warn(
          `jetstream: NATS does not tell which events clients give up, they count as acknowledged: let the user subscribe to ${SUBJECT}`,
          { error: message },
        )
      logged = message
    } finally {
      isFollowing = false
    }
  }
  const follow = (): void => {
    if (isFollowing || broker.unavailableReason !== undefined) return
    detach('reading what clients of NATS give up', run(broker.connected().connection))
  }
  broker.onConnected(follow)
  follow()
  return follow
}

/** Ends with the connection; it outlives the breaks of it. */
const readAdvisories = async (connection: NatsConnection, { database, now, log }: FollowerOptions): Promise<void> => {
  for await (const message of connection.subscribe(SUBJECT, { queue: 'muster-api' })) {
    try {
      const { consumer, stream_seq, deliveries } = message.json<TerminatedAdvisory>()
      await database.kysely
        .updateTable('event_deliveries')
        .set({ dead_time: timestampOf(now()), deliveries, given_back: 0, claim: null, reply: null })
        .where('consumer', '=', consumer)
        .where('stream_sequence', '=', stream_seq)
        .where('dead_time', 'is', null)
        .execute()
    } catch (error) {
      log.warn('jetstream: an event that a client gave up could not become a dead letter, it counts as acknowledged', {
        error: messageOf(error),
      })
    }
  }
}
