/** Writes fleet-desired with compare-and-set. FLEET-7. */
import type { KV } from '@nats-io/kv'
import { isStaleWrite } from '#lib/nats/stale-write.ts'
import type { DesiredWrite, KeyUpdate } from '../state/key-update.ts'

/** What became of a write. */
export type WriteResult =
  | { readonly outcome: 'Stored'; readonly seen: KeyUpdate }
  /** The key had another revision: this is what it has. */
  | { readonly outcome: 'Stale'; readonly seen: KeyUpdate }

export interface DesiredStore {
  /** @throws what NATS answers when it did not take it */
  write(write: DesiredWrite): Promise<WriteResult>
}

/** @param now For keys that were just written: NATS says the time only to those that watch. */
export const createDesiredStore = (kv: KV, now: () => Date): DesiredStore => ({
  async write(write) {
    const { key } = write
    try {
      if (write.kind === 'Put') {
        const revision = await kv.put(key, write.bytes, { previousSeq: write.revision })
        return { outcome: 'Stored', seen: { key, bytes: write.bytes, revision, at: now() } }
      }
      await kv.delete(key, { previousSeq: write.revision })
      // NATS does not say which revision the deletion has; it is at least the next one.
      return { outcome: 'Stored', seen: { key, bytes: undefined, revision: write.revision + 1 } }
    } catch (error) {
      if (!isStaleWrite(error)) throw error
      const found = await kv.get(key)
      const bytes = found?.operation === 'PUT' ? found.value.slice() : undefined
      return {
        outcome: 'Stale',
        seen: { key, bytes, revision: found?.revision ?? 0, ...(found && { at: found.created }) },
      }
    }
  },
})
