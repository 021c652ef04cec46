/** Writes fleet-info, each value with its signature. AGENT-56. */
import { jetstream, PubHeaders } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import { BUCKETS } from '#apis/fleet.nationtech.io/kv/buckets.ts'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import { subjectOf } from '#lib/nats/kv-subjects.ts'
import type { InfoSigner } from '../info-signer.ts'

/** As a `KV` writes. */
export interface InfoStore {
  /** @returns the revision that the key has then @throws what NATS answers */
  put(key: string, bytes: Uint8Array, options?: { readonly previousSeq?: number }): Promise<number>
}

export const infoStore = (connection: NatsConnection, signer: InfoSigner): InfoStore => {
  const client = jetstream(connection)
  return {
    async put(key, bytes, { previousSeq } = {}) {
      const signature = await signer.sign(key, bytes)
      const own = headers()
      if (previousSeq !== undefined) own.set(PubHeaders.ExpectedLastSubjectSequenceHdr, String(previousSeq))
      if (signature !== '') own.set(SIGNATURE_HEADER, signature)
      const { seq } = await client.publish(subjectOf(BUCKETS.info.name, key), bytes, { headers: own })
      return seq
    },
  }
}
