import type { NatsConnection } from '@nats-io/transport-node'
import type { Logger } from '#operator/model/log.ts'
import { timestampOf } from '../../model/timestamp.ts'
import type { Database } from '../../storage/database.ts'
import { STREAM } from './broker.ts'

/** What JetStream tells when a client gives a message up. Schema: io.nats.jetstream.advisory.v1.terminated */
interface TerminatedAdvisory {
  readonly consumer: string
  readonly stream_seq: number
  readonly deliveries: number
}

/**
 * Makes a dead letter of what a client that binds a group's durable consumer gives up (`+TERM`): a message that it will
 * never understand. JetStream tells it once; one replica hears it. Ends with the connection.
 */
export const followTerminations = async (
  connection: NatsConnection,
  { database, now, log }: { readonly database: Database; readonly now: () => Date; readonly log: Logger },
): Promise<void> => {
  const advisories = connection.subscribe(`$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${STREAM}.*`, {
    queue: 'muster-api',
  })
  for await (const message of advisories) {
    try {
      const { consumer, stream_seq, deliveries } = message.json<TerminatedAdvisory>()
      await database.kysely
        .updateTable('event_deliveries')
        .set({ dead_time: timestampOf(now()), deliveries, claim: null, reply: null })
        .where('consumer', '=', consumer)
        .where('stream_sequence', '=', stream_seq)
        .where('dead_time', 'is', null)
        .execute()
    } catch (error) {
      log.warn('an event that a client gave up is not among the dead letters', {
        error: error instanceof Error ? error.message : String(error),
      })
    }
  }
}
