/** Signs what the operator writes for devices, and knows what is signed already. Without keys nothing is, nor needs to be. FLEET-103, FLEET-104. */
import { isSignedBy, signEntry } from '#apis/fleet.nationtech.io/kv/signature.ts'
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

  use(keys: readonly FleetKey[]): void {
    this.#keys = keys
  }

  /** What stands beside the entry; empty without keys. */
  sign(key: string, bytes: Uint8Array): string {
    return signEntry(this.#keys, key, bytes)
  }

  /** Nothing is to be added: each of the keys has signed it. */
  isSigned(key: string, bytes: Uint8Array, signature: string): boolean {
    return this.#keys.length === 0 || isSignedBy(this.#keys, key, bytes, signature)
  }
}
