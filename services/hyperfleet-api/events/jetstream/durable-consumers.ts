import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { EVENT_STREAM } from '#apis/hyperfleet.redhat.com/event-stream.ts'

/** How long a message may stay out without an answer; a claim asks for its own time as soon as it has the message. */
const ACK_WAIT_MS = 30_000
/** Marks the durable consumers that are ours to delete. */
const OWNER_METADATA = 'muster.hyperfleet.io/consumer-group'

/**
 * The durable consumer of a group.
 *
 * It filters by the subject of the kind. Labels are not in the subject: which groups want an event is decided when it is
 * posted, from the resource's labels then, as without NATS; a message without a row for the group is acknowledged unseen.
 * After a change of the kind the earlier subject stays in the filter, for what was posted under it.
 *
 * @param from where a consumer that has to be made begins: `new` for a new group; `everything` for one whose consumer was
 * lost, whose rows then choose what it still gets
 */
export const ensureDurable = async (
  { consumers }: JetStreamManager,
  name: string,
  subject: string,
  from: 'new' | 'everything',
): Promise<void> => {
  const info = await findDurable(consumers, name)
  if (info === undefined) {
    await consumers.add(EVENT_STREAM, {
      durable_name: name,
      filter_subjects: [subject],
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      // The database counts deliveries: here also the acknowledgement of a lost message is one.
      max_deliver: -1,
      max_ack_pending: -1,
      deliver_policy: from === 'new' ? DeliverPolicy.New : DeliverPolicy.All,
      metadata: { [OWNER_METADATA]: 'true' },
    })
    return
  }
  const subjects = subjectsOf(info)
  if (!subjects.includes(subject))
    await consumers.update(EVENT_STREAM, name, { filter_subjects: [...subjects, subject] })
}

/** Deletes a group's durable consumer, if there is one. */
export const deleteDurable = async ({ consumers }: JetStreamManager, name: string): Promise<void> => {
  try {
    await consumers.delete(EVENT_STREAM, name)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** What a durable consumer gets. NATS has a single subject in a field of its own. */
export const subjectsOf = ({ config }: ConsumerInfo): readonly string[] =>
  config.filter_subjects ?? (config.filter_subject === undefined ? [] : [config.filter_subject])

/** Whether a durable consumer was made for a group of this API. */
export const isOwnConsumer = ({ config }: ConsumerInfo): boolean => config.metadata?.[OWNER_METADATA] === 'true'

const findDurable = async (
  consumers: JetStreamManager['consumers'],
  name: string,
): Promise<ConsumerInfo | undefined> => {
  try {
    return await consumers.info(EVENT_STREAM, name)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound
