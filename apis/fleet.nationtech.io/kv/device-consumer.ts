/**
 * The consumer by which a device reads its entries of fleet-desired, and how a device asks for it. AGENT-40, NATS-8. Pure.
 *
 * A server whose devices have an account of their own leads what they ask JetStream about consumers to the fleet operator, which
 * makes them: what is in such a request is the device's, and JetStream would do all of it with the server's rights.
 */
import { AckPolicy, type ConsumerConfig, DeliverPolicy } from '@nats-io/jetstream'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { BUCKETS } from './buckets.ts'
import { isDeviceName, keysOfDevice } from './keys.ts'

/** Where answers and watched entries come to, so that a device can be kept from listening to those of others. */
export const inboxOf = (device: string): string => `_INBOX.${device}`

/** How often the server says that there is nothing new; two that stay out are a loss. Milliseconds. */
export const IDLE_HEARTBEAT_MS = 30_000
/** After which the server removes a consumer that no agent listens to any more. Milliseconds. */
const INACTIVE_THRESHOLD_MS = 300_000

const NANOSECONDS = 1_000_000

/** All entries of a device first, and then every change. @param deliverSubject of the device's inbox */
export const deviceConsumer = (name: string, device: string, deliverSubject: string): Partial<ConsumerConfig> => ({
  name,
  filter_subject: subjectOf(BUCKETS.desired.name, keysOfDevice(device)),
  deliver_policy: DeliverPolicy.LastPerSubject,
  deliver_subject: deliverSubject,
  ack_policy: AckPolicy.None,
  max_deliver: 1,
  mem_storage: true,
  num_replicas: 1,
  flow_control: true,
  idle_heartbeat: IDLE_HEARTBEAT_MS * NANOSECONDS,
  inactive_threshold: INACTIVE_THRESHOLD_MS * NANOSECONDS,
})

/** In place of `$JS.API.CONSUMER`. */
export const CONSUMER_REQUESTS = 'muster.fleet.consumers'

/** The subjects by which a device may ask, for permissions. Its name is the only part that counts. */
export const consumerRequestsOf = (device: string): readonly string[] => {
  const stream = streamOf(BUCKETS.desired.name)
  return [
    `${CONSUMER_REQUESTS}.CREATE.${stream}.*.${subjectOf(BUCKETS.desired.name, keysOfDevice(device))}`,
    `${CONSUMER_REQUESTS}.DELETE.${stream}.*`,
  ]
}

export type ConsumerRequest =
  /** The one consumer of the device, in place of the one before. */
  | { readonly verb: 'Create'; readonly device: string; readonly deliverSubject: string }
  /** The next creation does it. */
  | { readonly verb: 'Delete' }
  | { readonly verb: 'Refuse'; readonly problem: string }

/** Of a request for a consumer the device whose it is: the server lets no other one ask by it. Undefined for all else. */
export const deviceAsking = (subject: string): string | undefined =>
  deviceIn(subject, `${CONSUMER_REQUESTS}.CREATE.${streamOf(BUCKETS.desired.name)}.`)

/**
 * Whether an answer may be published to it, with the rights of the fleet operator: an inbox, or what a server puts in the place of one
 * of another account. Any other subject is chosen by the device, be it an entry of another one. NATS-14.
 */
export const isAnswerSubject = (reply: string | undefined): reply is string =>
  reply !== undefined && /^(_R_|_INBOX)\./.test(reply)

/** @param subject that the server let the device publish to @param body parses what the device wrote, whatever it may be */
export const readConsumerRequest = (subject: string, body: () => unknown): ConsumerRequest => {
  const stream = streamOf(BUCKETS.desired.name)
  if (subject.startsWith(`${CONSUMER_REQUESTS}.DELETE.${stream}.`)) return { verb: 'Delete' }
  const device = deviceAsking(subject)
  if (device === undefined) return { verb: 'Refuse', problem: 'devices make and delete their own consumers alone' }
  const deliverSubject = deliverSubjectIn(body)
  if (deliverSubject === undefined || !isInboxOf(device, deliverSubject))
    return { verb: 'Refuse', problem: `deliver_subject must be one subject of ${inboxOf(device)}` }
  return { verb: 'Create', device, deliverSubject }
}

/** Of `<prefix><consumer>.$KV.fleet-desired.<device>.>`. */
const deviceIn = (subject: string, prefix: string): string | undefined => {
  if (!subject.startsWith(prefix)) return undefined
  const [, ...filter] = subject.slice(prefix.length).split('.')
  const device = filter[2] ?? ''
  const isFilter = isDeviceName(device) && filter.join('.') === subjectOf(BUCKETS.desired.name, keysOfDevice(device))
  return isFilter ? device : undefined
}

const deliverSubjectIn = (body: () => unknown): string | undefined => {
  try {
    const { config } = body() as { config?: { deliver_subject?: unknown } }
    return typeof config?.deliver_subject === 'string' ? config.deliver_subject : undefined
  } catch {
    return undefined
  }
}

/** Of its own client there may be a part more: it counts its consumers. */
const isInboxOf = (device: string, subject: string): boolean =>
  subject.startsWith(`${inboxOf(device)}.`) &&
  /^[A-Za-z0-9_-]{1,64}(\.[0-9]{1,9})?$/.test(subject.slice(inboxOf(device).length + 1))
