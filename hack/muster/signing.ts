/** The key that signs entries for devices. In a cluster `muster nats` makes it: docs/fleet-keys.md#signed-entries. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSigningKey, publicKeysOf, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'

export interface SigningFiles {
  /** For the fleet operator alone. */
  readonly signingKeys: string
  /** For agents. */
  readonly publicKeys: string
}

/** Makes a key. @param folder that no other user can read */
export const writeSigningKey = async (folder: string): Promise<SigningFiles> => {
  const key = newSigningKey()
  const files = { signingKeys: join(folder, 'fleet-signing.pem'), publicKeys: join(folder, 'fleet-public.pem') }
  await writeFile(files.signingKeys, key, { mode: 0o600 })
  await writeFile(files.publicKeys, publicKeysOf(readSigningKeys(key)))
  return files
}
