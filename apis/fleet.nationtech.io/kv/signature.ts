/**
 * Signatures of fleet-desired: by them a device knows that the fleet's operator wrote an entry for it, whatever became of the store
 * and of the keys that open it. FLEET-103, AGENT-48. Pure.
 *
 *   header of the message    Muster-Signature: <id of the key>:<Base64>, one for each key, separated by commas
 *   what is signed           SCOPE, the key of the entry, and the bytes of its value as they are stored
 *
 * It stands beside the value and not in it: the bytes of a value say what is wanted, and are the same by every writer, also by one of
 * a release that signs nothing.
 */
import { sign, verify } from 'node:crypto'
import { type FleetKey, MAX_KEYS } from './signing-keys.ts'

export const SIGNATURE_HEADER = 'Muster-Signature'

/** So that no signature of another use, or of a later form, passes for one of these. */
const SCOPE = 'muster fleet-desired 1'

/** A key has neither spaces nor line breaks, so no two entries have the same text. */
const signedText = (key: string, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${SCOPE}\n${key}\n`), bytes])

/** The header's value. The same entry and keys have the same one: Ed25519 has no chance in it. */
export const signEntry = (keys: readonly FleetKey[], key: string, bytes: Uint8Array): string => {
  const text = signedText(key, bytes)
  return keys.map((one) => `${one.id}:${sign(null, text, one.key).toString('base64')}`).join(',')
}

/** Those that count, for operators as for devices: with others before them, one would take an entry for signed which the other refuses. */
const signaturesIn = (header: string): readonly string[] => header.split(',', MAX_KEYS)

/** The ids of those of the keys that have signed it; others may have, too. @param header as it is stored; empty when there is none */
export const findSigners = (
  keys: readonly FleetKey[],
  key: string,
  bytes: Uint8Array,
  header: string,
): readonly string[] => {
  if (header === '' || keys.length === 0) return []
  const found = signaturesIn(header)
  const own = signEntry(keys, key, bytes).split(',')
  return keys.flatMap(({ id }, index) => (found.includes(own[index] ?? '') ? [id] : []))
}

export type SignatureVerdict =
  | { readonly verdict: 'Verified' }
  | { readonly verdict: 'Refused'; readonly reason: string }

/** Whether one of the keys has signed the entry. @param header empty when there is none */
export const verifyEntry = (
  keys: readonly FleetKey[],
  key: string,
  bytes: Uint8Array,
  header: string,
): SignatureVerdict => {
  if (header === '')
    return {
      verdict: 'Refused',
      reason: 'the entry in fleet-desired is not signed, so it is not known that the fleet operator wrote it',
    }
  const signatures = signaturesIn(header)
    .map((one) => /^([0-9a-f]{16}):([A-Za-z0-9+/]{86}==)$/.exec(one))
    .flatMap((found) =>
      found === null ? [] : [{ id: found[1] ?? '', signature: Buffer.from(found[2] ?? '', 'base64') }],
    )
  const known = signatures.flatMap(({ id, signature }) =>
    keys.filter((one) => one.id === id).map((one) => ({ key: one.key, signature })),
  )
  const text = signedText(key, bytes)
  if (known.some((one) => verify(null, text, one.key, one.signature))) return { verdict: 'Verified' }
  if (known.length > 0 || signatures.length === 0)
    return {
      verdict: 'Refused',
      reason:
        'the entry in fleet-desired has a signature that is not of it: another than the fleet operator wrote or changed it',
    }
  const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id).join(', ')
  return {
    verdict: 'Refused',
    reason: `the entry in fleet-desired is signed by ${ids(signatures)}, and this device knows ${ids(keys)}: give it the present public keys of the fleet`,
  }
}
