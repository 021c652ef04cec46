import { type ReconcileEvent, withReplays } from '../../model/cloudevent.ts'

/** An event that JetStream lacks, wholly or for some groups. */
export interface UnrelayedEvent {
  readonly sequence: number
  readonly id: string
  readonly kind: string
  /** The CloudEvent, JSON. */
  readonly document: string
  /** Whether the stream has it already, and only the groups below lack it. */
  readonly isRelayed: boolean
  /** The groups that wait for it, and how often it was replayed to each. */
  readonly groups: readonly { readonly consumer: string; readonly replays: number }[]
}

/** A message on its way to JetStream. */
export interface OutgoingMessage {
  /** `Nats-Msg-Id`: the same for the same message after any crash, so that JetStream drops the repetition. */
  readonly id: string
  /** Whether it is the one that carries the event to everyone. */
  readonly isFirst: boolean
  readonly body: string
  /** The groups it is for; a client that binds a group's consumer by itself skips what doesn't name the group. */
  readonly consumers: readonly string[]
}

/** The event's row, by which a claim finds what a message is about. */
export const SEQUENCE_HEADER = 'Muster-Sequence'
export const CONSUMERS_HEADER = 'Muster-Consumers'
export const CONTENT_TYPE = 'application/cloudevents+json'

/**
 * The messages that bring an event to JetStream. The first carries it to everyone; to a group that wants it afterwards (it
 * was made later, or replays a dead letter) goes a message of its own, which the others skip.
 * @param epoch how often the stream lost messages: it would still take those for repetitions
 */
export const buildMessages = (
  { id, document, isRelayed, groups }: UnrelayedEvent,
  epoch: number,
): OutgoingMessage[] => {
  const inEpoch = (messageId: string) => (epoch === 0 ? messageId : `${messageId}~${epoch}`)
  const isFirst = ({ replays }: { readonly replays: number }) => !isRelayed && replays === 0
  const first = isRelayed
    ? []
    : [
        {
          id: inEpoch(id),
          isFirst: true,
          body: document,
          consumers: groups.filter(isFirst).map((group) => group.consumer),
        },
      ]
  const later = groups
    .filter((group) => !isFirst(group))
    .map(({ consumer, replays }) => ({
      id: inEpoch(`${id}/${consumer}/${replays}`),
      isFirst: false,
      body: replays === 0 ? document : JSON.stringify(withReplays(JSON.parse(document) as ReconcileEvent, replays)),
      consumers: [consumer],
    }))
  return [...first, ...later]
}
