/** What the leader does with fleet-state, which devices write: it counts what one of them has there, and clears it. FLEET-92. */
import type { JetStreamManager } from '@nats-io/jetstream'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { deviceKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { listKeys } from '#lib/nats/bucket-entries.ts'
import { streamOf, subjectOf } from '#lib/nats/kv-subjects.ts'

export interface ReportStore {
  /** The keys under which there is a report of a device, or the marker of one that it took back. @throws what NATS answers */
  keys(device: string): Promise<readonly string[]>
  /** Removes all of these. A device says again what it runs: AGENT-25. @throws what NATS answers */
  clear(device: string): Promise<void>
}

/** @param namespace Whose keys the operator reads; all when undefined. Others are another operator's to judge. */
export const createReportStore = (manager: JetStreamManager, namespace: string | undefined): ReportStore => {
  const bucket = BUCKETS.state.name
  const keysOf = (device: string) => `${deviceKey(device)}.${namespace === undefined ? '>' : `${namespace}.*`}`
  return {
    keys: (device) => listKeys(manager, bucket, keysOf(device)),
    async clear(device) {
      await manager.streams.purge(streamOf(bucket), { filter: subjectOf(bucket, keysOf(device)) })
    },
  }
}
