/**
 * What a NATS server allows the agent of a device, and nothing else. AGENT-1. Pure.
 *
 * Watching goes by a consumer whose filter is a part of the subject that creates it: the server refuses one whose filter is
 * another. Its name is that of the device, so there is one of it. Reading by sequence, listing, purging and everything about streams has subjects that are not here. A device can't
 * read the states it wrote either, so nothing that it made up can be sent on to another client by a server's answer.
 */
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceKey, keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'
import { inboxOf } from './inbox.ts'

/** Subjects as nats-server's configuration takes them. */
export interface Permissions {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** @throws MalformedEntry for what can't be the name of a device */
export const devicePermissions = (device: string): Permissions => {
  const desired = BUCKETS.desired.name
  const stream = streamOf(desired)
  return {
    publish: [
      subjectOf(BUCKETS.state.name, keysOfDevice(device)),
      subjectOf(BUCKETS.info.name, deviceKey(device)),
      subjectOf(BUCKETS.heartbeat.name, deviceKey(device)),
      `$JS.API.CONSUMER.CREATE.${stream}.${device}.${subjectOf(desired, keysOfDevice(device))}`,
      `$JS.API.CONSUMER.DELETE.${stream}.${device}`,
      // Answers to JetStream's question whether it may go on sending.
      `$JS.FC.${stream}.>`,
    ],
    subscribe: [`${inboxOf(device)}.>`],
  }
}
