/** What devices say of themselves, and whether it is theirs. FLEET-122. */
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { verifyInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { type Info, infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { bytesOf, type KeyUpdate } from '../state/key-update.ts'
import { evaluateInfo, type InfoEvidence, type InfoVerdict } from '../status/info-verified.ts'

interface StoredInfo {
  readonly info: Info
  readonly update: KeyUpdate
  /** Of this update and these keys; undefined until it is asked for. */
  signature?: InfoEvidence['signature']
}

export class InfoCache {
  readonly #keys: Pick<DeviceKeyFolder, 'keyOf'> | undefined
  readonly #infos = new Map<string, StoredInfo>()

  /** @param keys undefined where no signature is asked for */
  constructor(keys: Pick<DeviceKeyFolder, 'keyOf'> | undefined) {
    this.#keys = keys
  }

  /** Whether signatures are looked at. */
  get isVerifying(): boolean {
    return this.#keys !== undefined
  }

  /** A key of fleet-info. @throws MalformedEntry */
  seen(device: string, update: KeyUpdate): void {
    const bytes = bytesOf(update)
    if (bytes === undefined) this.#infos.delete(device)
    else this.#infos.set(device, { info: infoCodec.decode(bytes).payload, update })
  }

  clear(): void {
    this.#infos.clear()
  }

  /** Other keys may judge otherwise. */
  keysChanged(): void {
    for (const stored of this.#infos.values()) delete stored.signature
  }

  names(): Iterable<string> {
    return this.#infos.keys()
  }

  /** Undefined when the store has nothing of it. @param counter of the last one of the device that was signed */
  verdict(device: string, counter: number | undefined): InfoVerdict | undefined {
    const stored = this.#infos.get(device)
    if (stored === undefined) return undefined
    stored.signature ??= this.#verify(device, stored.update)
    return evaluateInfo({ signature: stored.signature, counter })
  }

  /** What is to be gone by; undefined when there is nothing that is taken. @param counter of the last one of the device that was signed */
  accepted(device: string, counter: number | undefined): Info | undefined {
    return this.verdict(device, counter)?.isTaken === true ? this.#infos.get(device)?.info : undefined
  }

  #verify(device: string, { bytes, signature = '' }: KeyUpdate): InfoEvidence['signature'] {
    if (this.#keys === undefined) return { verdict: 'NotAsked' }
    const key = this.#keys.keyOf(device)
    return key === undefined || bytes === undefined ? { verdict: 'NoKey' } : verifyInfo(key, device, bytes, signature)
  }
}
