/**
 * Signatures of fleet-info: by them the operator knows that the device said it, whatever became of the store and of the keys that
 * open it. AGENT-56, FLEET-122. Pure.
 *
 *   header of the message    Muster-Signature: <counter>:<Base64>
 *   what is signed           SCOPE, the name of the device, the counter, and the bytes of its value as they are stored
 *
 * The key is the one with which the device signs in to NATS: Ed25519, and NATS signs nonces alone, which are no such text.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { fromPublic } from '@nats-io/nkeys'
import { isCount } from './envelope.ts'

/** So that no signature of another use, or of a later form, passes for one of these. */
const SCOPE = 'muster fleet-info 1'

const signedText = (device: string, counter: number, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${SCOPE}\n${device}\n${counter}\n`), bytes])

/**
 * The header's value.
 * @param sign with the device's key, Ed25519 @param counter a whole number that grows with each other info of the device
 */
export const signInfo = (
  sign: (text: Uint8Array) => Uint8Array,
  device: string,
  counter: number,
  bytes: Uint8Array,
): string => `${counter}:${Buffer.from(sign(signedText(device, counter, bytes))).toString('base64')}`

export type InfoSignature =
  | { readonly verdict: 'Signed'; readonly counter: number }
  | { readonly verdict: 'Missing' }
  | { readonly verdict: 'Wrong' }

/** Whether the device with this key has signed it. @param header empty when there is none */
export const verifyInfo = (key: KeyObject, device: string, bytes: Uint8Array, header: string): InfoSignature => {
  if (header === '') return { verdict: 'Missing' }
  const [, digits = '', signature = ''] = /^(\d{1,16}):([A-Za-z0-9+/]{86}==)$/.exec(header) ?? []
  const counter = Number(digits)
  const isRight =
    digits === String(counter) &&
    isCount(counter) &&
    verify(null, signedText(device, counter, bytes), key, Buffer.from(signature, 'base64'))
  return isRight ? { verdict: 'Signed', counter } : { verdict: 'Wrong' }
}

/** The public half of a NATS user, `U…`: base32 of a prefix, 32 bytes and a checksum. */
const NKEY = /^U[A-Z2-7]{55}$/
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Undefined for a text that is no public key of a NATS user. */
export const readDeviceKey = (nkey: string): KeyObject | undefined => {
  if (!NKEY.test(nkey)) return undefined
  try {
    // Its checksum.
    fromPublic(nkey)
    const x = decodeBase32(nkey).subarray(1, 33).toString('base64url')
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  } catch {
    return undefined
  }
}

const decodeBase32 = (text: string): Buffer => {
  const bits = Array.from(text, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
