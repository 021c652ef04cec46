/** Writes fleet-desired with compare-and-set, each entry with its signature. FLEET-7, FLEET-103. */
import { type JetStreamManager, PubHeaders } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { headers } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { newestEntry } from '#lib/nats/bucket-entries.ts'
import { subjectOf } from '#lib/nats/kv-subjects.ts'
import { isStaleWrite } from '#lib/nats/stale-write.ts'
import type { EntrySigner } from '../state/entry-signer.ts'
import { type DesiredWrite, type KeyUpdate, updateOf } from '../state/key-update.ts'

/** What became of a write. */
export type WriteResult =
  | { readonly outcome: 'Stored'; readonly seen: KeyUpdate }
  /** The key had another revision: this is what it has. */
  | { readonly outcome: 'Stale'; readonly seen: KeyUpdate }

export interface DesiredStore {
  /** @throws what NATS answers when it did not take it */
  write(write: DesiredWrite): Promise<WriteResult>
}

export interface DesiredStoreOptions {
  readonly kv: KV
  readonly manager: JetStreamManager
  readonly signer: EntrySigner
  /** For keys that were just written: NATS says the time only to those that watch. */
  readonly now: () => Date
}

export const createDesiredStore = ({ kv, manager, signer, now }: DesiredStoreOptions): DesiredStore => {
  const bucket = BUCKETS.desired.name
  const client = manager.jetstream()

  const put = async (key: string, bytes: Uint8Array, previous: number): Promise<KeyUpdate> => {
    const signature = signer.sign(key, bytes)
    const own = headers()
    own.set(PubHeaders.ExpectedLastSubjectSequenceHdr, String(previous))
    if (signature !== '') own.set(SIGNATURE_HEADER, signature)
    const { seq: revision } = await client.publish(subjectOf(bucket, key), bytes, { headers: own })
    return { key, bytes, signature, revision, at: now() }
  }

  return {
    async write(write) {
      const { key } = write
      try {
        if (write.kind === 'Put') return { outcome: 'Stored', seen: await put(key, write.bytes, write.revision) }
        await kv.delete(key, { previousSeq: write.revision })
        // NATS does not say which revision the deletion has; it is at least the next one.
        return { outcome: 'Stored', seen: { key, bytes: undefined, revision: write.revision + 1 } }
      } catch (error) {
        if (!isStaleWrite(error)) throw error
        const found = await newestEntry(manager, bucket, key)
        return {
          outcome: 'Stale',
          seen: found === undefined ? { key, bytes: undefined, revision: 0 } : updateOf({ key, ...found }),
        }
      }
    },
  }
}
