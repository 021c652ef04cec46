/** Signs what the operator writes for devices, and knows what is signed already. Without keys nothing is, nor needs to be. FLEET-103, FLEET-104. */
import { findSigners, signEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
import type { FleetKey } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'

export class EntrySigner {
  #keys: readonly FleetKey[]

  constructor(keys: readonly FleetKey[] = []) {
    this.#keys = keys
  }

  /** The ids of its keys. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id)
  }

  get signs(): boolean {
    return this.#keys.length > 0
  }

  use(keys: readonly FleetKey[]): void {
    this.#keys = keys
  }

  /** What stands beside the entry; empty without keys. */
  sign(key: string, bytes: Uint8Array): string {
    return signEntry(this.#keys, key, bytes)
  }

  /** The ids of those of its keys that have signed the entry. */
  findSigners(key: string, bytes: Uint8Array, signature: string): readonly string[] {
    return findSigners(this.#keys, key, bytes, signature)
  }

  /** Nothing is to be added: each of its keys has signed. */
  isSigned(signers: readonly string[]): boolean {
    return this.#keys.every(({ id }) => signers.includes(id))
  }

  /** An operator wrote it, as far as can be known: one of its keys has signed, or it has none. */
  isVerified(signers: readonly string[]): boolean {
    return !this.signs || this.#keys.some(({ id }) => signers.includes(id))
  }
}
