import { createUser } from '@nats-io/nkeys'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readDeviceKey, signInfo, verifyInfo } from './info-signature.ts'

const [pump, kiosk] = [createUser(), createUser()]
const keyOf = (pair: typeof pump) => {
  const key = readDeviceKey(pair.getPublicKey())
  if (key === undefined) throw new Error('its public key is one')
  return key
}
const [pumpKey, kioskKey] = [keyOf(pump), keyOf(kiosk)]
const token = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/)
const infos = fc.record({
  device: token,
  counter: fc.maxSafeNat(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 80 }),
})
const property = (judge: (info: { device: string; counter: number; bytes: Uint8Array }) => void) =>
  fc.assert(fc.property(infos, judge), { numRuns: 40 })
const signed = ({ device, counter, bytes }: { device: string; counter: number; bytes: Uint8Array }) =>
  signInfo((text) => pump.sign(text), device, counter, bytes)

// AGENT-56, FLEET-122
describe('what a device says of itself', () => {
  test('is known to be its own by the key with which it signs in to NATS', () => {
    property((info) => {
      expect(verifyInfo(pumpKey, info.device, info.bytes, signed(info))).toEqual({
        verdict: 'Signed',
        counter: info.counter,
      })
    })
  })

  test('is another’s for any other key, device, counter and byte', () => {
    property((info) => {
      const { device, counter, bytes } = info
      const header = signed(info)
      const changed = Uint8Array.from(bytes)
      changed[0] = (changed[0] ?? 0) ^ 1
      const other = header.replace(/^\d+/, String(counter === 0 ? 1 : counter - 1))
      for (const verdict of [
        verifyInfo(kioskKey, device, bytes, header),
        verifyInfo(pumpKey, `${device}x`, bytes, header),
        verifyInfo(pumpKey, device, changed, header),
        verifyInfo(pumpKey, device, bytes, other),
        verifyInfo(pumpKey, device, bytes, `0${header}`),
      ])
        expect(verdict).toEqual({ verdict: 'Wrong' })
    })
  })

  test('has any bytes as a header: that is a wrong signature, and never an error', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (header) => {
        expect(verifyInfo(pumpKey, 'a', Buffer.from('{}'), header)).toEqual({ verdict: 'Wrong' })
      }),
    )
    expect(verifyInfo(pumpKey, 'a', Buffer.from('{}'), '')).toEqual({ verdict: 'Missing' })
  })
})

test('a text that is no public key of a NATS user is none', () => {
  const key = pump.getPublicKey()
  const seed = new TextDecoder().decode(pump.getSeed())
  const spoilt = `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`
  for (const text of ['', 'U', seed, `${key}A`, spoilt]) expect(readDeviceKey(text)).toBeUndefined()
})
