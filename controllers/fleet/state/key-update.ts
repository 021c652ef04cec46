import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { SIGNATURE_HEADER } from '#apis/fleet.nationtech.io/kv/signature.ts'
import type { BucketEntry } from '#lib/nats/bucket-entries.ts'

/** A key with its value as a bucket has it; no bytes: the key was deleted. */
export interface KeyUpdate {
  readonly key: string
  readonly bytes: Uint8Array | undefined
  /** Of the bucket. An update that is not newer than the last one of the key changes nothing; 0 does: nothing is left of the key, not even its deletion. */
  readonly revision: number
  /** When it was written, by the clock of the server. */
  readonly at?: Date
  /** Empty or absent where it has none. FLEET-103. */
  readonly signature?: string
  /** It was written by headers that are no entry's: there is no value, whatever the bytes are. */
  readonly problem?: MalformedEntry
}

/** An entry as it was read. */
export const updateOf = ({
  key,
  kind,
  problem,
  header,
  value,
  revision,
  at,
}: Omit<BucketEntry, 'pending'>): KeyUpdate => ({
  key,
  // A copy: the value is a part of a larger buffer of the network, which would stay as long as it does.
  bytes: kind === 'Value' || kind === 'Unreadable' ? value.slice() : undefined,
  revision,
  at,
  signature: header(SIGNATURE_HEADER),
  ...(kind === 'Unreadable' && { problem: new MalformedEntry('Headers', problem) }),
})

/** The bytes to decode; undefined when the key was deleted. @throws MalformedEntry (Headers) */
export const bytesOf = ({ bytes, problem }: KeyUpdate): Uint8Array | undefined => {
  if (problem !== undefined) throw problem
  return bytes
}

/** A change of fleet-desired. It fails when the key has another revision by now; the present value then comes as `desiredSeen`. */
export type DesiredWrite =
  | { readonly kind: 'Put'; readonly key: string; readonly bytes: Uint8Array; readonly revision: number }
  | { readonly kind: 'Delete'; readonly key: string; readonly revision: number }

/** Runs an update. @returns the malformed entry that ended it, for the caller to log and count; undefined when there is none */
export const skipMalformed = (update: () => void): MalformedEntry | undefined => {
  try {
    update()
    return undefined
  } catch (error) {
    if (error instanceof MalformedEntry) return error
    throw error
  }
}
