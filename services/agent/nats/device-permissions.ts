/**
 * What a NATS server allows the agent of a device, and nothing else. AGENT-1. Pure.
 *
 * A server checks the subject of a message and not its reply, and JetStream answers there with the server's own rights. So these
 * subjects hold a device only in an account of their own, in which answers end: server-config.ts.
 */
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { consumerRequestsOf, inboxOf } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { deviceKey, keysOfDevice } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'

/** Subjects as nats-server's configuration takes them. */
export interface Permissions {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** @throws MalformedEntry for what can't be the name of a device */
export const devicePermissions = (device: string): Permissions => ({
  publish: [
    subjectOf(BUCKETS.state.name, keysOfDevice(device)),
    subjectOf(BUCKETS.info.name, deviceKey(device)),
    subjectOf(BUCKETS.heartbeat.name, deviceKey(device)),
    ...consumerRequestsOf(device),
    // Answers to JetStream's question whether it may go on sending.
    `$JS.FC.${streamOf(BUCKETS.desired.name)}.${device}.*`,
  ],
  subscribe: [`${inboxOf(device)}.>`],
})
