/**
 * What entries say. Devices of a Deployment have the same bytes, so they are decoded and kept once, for as long as any key of the Deployment
 * has an entry: what opens NATS may write keys of any number of Deployments, and delete them again. Pure.
 */
import { equalBytes } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { DesiredEntry } from './placement.ts'

export type DecodedEntry = Pick<DesiredEntry, 'bytes' | 'desired'>

interface EntriesOfDeployment {
  keys: number
  /** The value that was decoded last. */
  last: DecodedEntry | undefined
}

export class DecodedEntries {
  readonly #byDeployment = new Map<string, EntriesOfDeployment>()

  /** How many keys have an entry. */
  keys = 0

  /** A key has an entry that had none. */
  keyWritten(deployment: string): void {
    this.keys += 1
    const entries = this.#byDeployment.get(deployment)
    if (entries === undefined) this.#byDeployment.set(deployment, { keys: 1, last: undefined })
    else entries.keys += 1
  }

  /** A key that had an entry has none. */
  keyDeleted(deployment: string): void {
    this.keys -= 1
    const entries = this.#byDeployment.get(deployment)
    if (entries === undefined) return
    entries.keys -= 1
    if (entries.keys === 0) this.#byDeployment.delete(deployment)
  }

  /** @throws MalformedEntry */
  decode(deployment: string, bytes: Uint8Array): DecodedEntry {
    const entries = this.#byDeployment.get(deployment)
    const last = entries?.last
    if (last !== undefined && equalBytes(last.bytes, bytes)) return last
    const decoded = { bytes, desired: desiredCodec.decode(bytes) }
    if (entries !== undefined) entries.last = decoded
    return decoded
  }
}
