/** What devices say of themselves, and whether it is theirs. FLEET-122. */
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { verifyInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { type Info, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { bytesOf, type KeyUpdate } from '../state/key-update.ts'
import { evaluateInfo, type InfoEvidence, type InfoVerdict, type SignedInfo } from '../status/info-verified.ts'

interface StoredInfo {
  readonly info: Info
  /** To verify it by; undefined where no signature is asked for. */
  readonly update: KeyUpdate | undefined
}

export class InfoCache {
  readonly #keys: Pick<DeviceKeyFolder, 'keyOf'> | undefined
  /** What stands in the store; undefined for what can't be read. */
  readonly #infos = new Map<string, StoredInfo | undefined>()
  /** Of what stands there, and the keys of now, as far as it was asked for: signatures of a whole fleet take seconds. */
  readonly #signatures = new Map<string, InfoEvidence['signature']>()
  /** What was overwritten, where it was signed and the newest of the device: what the leader has not written yet is remembered here. */
  readonly #newest = new Map<string, { readonly info: Info; readonly signed: SignedInfo }>()

  /** @param keys undefined where no signature is asked for */
  constructor(keys: Pick<DeviceKeyFolder, 'keyOf'> | undefined) {
    this.#keys = keys
  }

  /** A key of fleet-info. @throws MalformedEntry */
  seen(device: string, update: KeyUpdate): void {
    this.#keepNewest(device)
    this.#signatures.delete(device)
    try {
      const bytes = bytesOf(update)
      if (bytes === undefined) this.#infos.delete(device)
      else this.#infos.set(device, { info: infoCodec.decode(bytes).payload, update: this.#keys && update })
    } catch (error) {
      // Without keys the last one that could be read holds.
      if (error instanceof MalformedEntry && this.#keys !== undefined) this.#infos.set(device, undefined)
      throw error
    }
  }

  clear(): void {
    this.#infos.clear()
    this.#signatures.clear()
  }

  /** The Device is gone: one of its name begins anew. */
  forget(device: string): void {
    this.#newest.delete(device)
  }

  /** These have other keys. */
  keysChanged(devices: Iterable<string>): void {
    for (const device of devices) {
      this.#signatures.delete(device)
      this.#newest.delete(device)
    }
  }

  names(): Iterable<string> {
    return this.#infos.keys()
  }

  /** The store has something of it, whatever that is. */
  has(device: string): boolean {
    return this.#infos.has(device)
  }

  /** Undefined when the store has nothing of it. @param last what the Device remembers */
  verdict(device: string, last: SignedInfo | undefined): InfoVerdict | undefined {
    if (!this.#infos.has(device)) return undefined
    return evaluateInfo({ signature: this.#signatureOf(device), last: newer(last, this.#newest.get(device)?.signed) })
  }

  /** Of those that a verdict was asked for; undefined where no signature is. @param lastOf what a Device remembers */
  counts(lastOf: (device: string) => SignedInfo | undefined) {
    if (this.#keys === undefined) return undefined
    const counts = { signed: 0, unsigned: 0, refused: 0 }
    for (const device of this.#signatures.keys()) {
      const { isTaken, condition } = this.verdict(device, lastOf(device)) ?? {}
      if (isTaken === false) counts.refused += 1
      else if (condition?.status === 'True') counts.signed += 1
      else if (isTaken === true) counts.unsigned += 1
    }
    return counts
  }

  /** What is to be gone by: where another stands in its place, the newest that the device signed. @param last what the Device remembers */
  accepted(device: string, last: SignedInfo | undefined): Info | undefined {
    const verdict = this.verdict(device, last)
    if (verdict === undefined) return undefined
    if (verdict.isTaken) return this.#infos.get(device)?.info
    const newest = this.#newest.get(device)
    return newest !== undefined && isSame(newest.signed, verdict.last) ? newest.info : undefined
  }

  #keepNewest(device: string): void {
    const info = this.#infos.get(device)?.info
    if (info === undefined || this.#keys === undefined) return
    const signature = this.#signatureOf(device)
    if (signature.verdict !== 'Signed') return
    const { signed } = signature
    if (newer(this.#newest.get(device)?.signed, signed) === signed) this.#newest.set(device, { info, signed })
  }

  #signatureOf(device: string): InfoEvidence['signature'] {
    const known = this.#signatures.get(device) ?? this.#verify(device)
    this.#signatures.set(device, known)
    return known
  }

  #verify(device: string): InfoEvidence['signature'] {
    if (this.#keys === undefined) return { verdict: 'NotAsked' }
    const update = this.#infos.get(device)?.update
    if (update?.bytes === undefined) return { verdict: 'Unreadable' }
    const known = this.#keys.keyOf(device)
    if (known === undefined) return { verdict: 'NoKey' }
    const found = verifyInfo(known.key, device, update.bytes, update.signature ?? '')
    return found.verdict === 'Signed'
      ? { verdict: 'Signed', signed: { counter: found.counter, nkey: known.nkey } }
      : found
  }
}

const isSame = (a: SignedInfo, b: SignedInfo | undefined): boolean => a.counter === b?.counter && a.nkey === b.nkey

/** Of two by one key that with the higher counter; of two keys what this process saw. */
const newer = (known: SignedInfo | undefined, seen: SignedInfo | undefined): SignedInfo | undefined => {
  if (known === undefined || seen === undefined) return seen ?? known
  return seen.nkey !== known.nkey || seen.counter > known.counter ? seen : known
}
