/** What an attacker with the fleet's key of NATS does with what devices say, between any two looks of the leader. */
import { createUser } from '@nats-io/nkeys'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readDeviceKey, signInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { SignedInfo } from '../status/info-verified.ts'
import { InfoCache } from './infos.ts'

type Pair = ReturnType<typeof createUser>

const [own, next] = [createUser(), createUser()]
const nkey = own.getPublicKey()

const bytesOf = (model: string) => infoCodec.encode({ labels: {}, inventory: { model }, agentVersion: '1' }, 0)
let revision = 0
const update = (model: string, signature: string) => ({
  key: 'pump',
  bytes: bytesOf(model),
  revision: ++revision,
  signature,
})
const signed = (model: string, counter: number, pair: Pair = own) =>
  update(
    model,
    signInfo((text) => pair.sign(text), 'pump', counter, bytesOf(model)),
  )

const world = () => {
  const keys = new Map<string, Pair>([['pump', own]])
  let asked = 0
  const infos = new InfoCache({
    keyOf: (device) => {
      asked += 1
      const found = keys.get(device)?.getPublicKey() ?? ''
      const key = readDeviceKey(found)
      return key && { key, nkey: found }
    },
  })
  return { infos, keys, asked: () => asked }
}

describe('FLEET-123: of what a device signed', () => {
  test('attack: an older one is put back, or something unsigned, before the leader has looked; the newest counts', () => {
    for (const forged of [signed('was-at-a', 2), update('stolen', '')]) {
      const { infos } = world()
      infos.seen('pump', signed('moved-to-b', 3))
      infos.seen('pump', forged)
      expect(infos.accepted('pump', { counter: 2, nkey })?.inventory.model).toBe('moved-to-b')
      expect(infos.verdict('pump', { counter: 2, nkey })).toMatchObject({ isTaken: false, last: { counter: 3 } })
    }
  })

  test('attack: nothing that can be read is put there: the Device does not say Signed', () => {
    const { infos } = world()
    infos.seen('pump', signed('p1', 1))
    const garbage = { key: 'pump', bytes: Buffer.from('{}'), revision: 9, signature: '' }
    expect(() => infos.seen('pump', garbage)).toThrow(MalformedEntry)
    expect(infos.verdict('pump', undefined)?.condition).toMatchObject({ status: 'False', reason: 'Unreadable' })
    expect(infos.accepted('pump', undefined)?.inventory.model).toBe('p1')
  })

  test('attack: the thief of a key signs the highest counter; with the next key the device begins anew', () => {
    const { infos, keys } = world()
    infos.seen('pump', signed('thief', Number.MAX_SAFE_INTEGER))
    const last = infos.verdict('pump', undefined)?.last
    keys.set('pump', next)
    infos.keysChanged(['pump'])
    infos.seen('pump', signed('p1', 5, next))
    expect(infos.verdict('pump', last)).toMatchObject({
      isTaken: true,
      last: { counter: 5, nkey: next.getPublicKey() },
    })
    // And what was signed by it stays the newest.
    infos.seen('pump', signed('p0', 4, next))
    expect(infos.accepted('pump', { counter: 5, nkey: next.getPublicKey() })?.inventory.model).toBe('p1')
  })

  test('whatever stands there and in which order, and whenever the leader writes: the counter of what is taken never falls', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ counter: fc.integer({ min: 1, max: 6 }) }),
        fc.constantFrom('unsigned', 'garbage', 'deleted', 'leader looks', 'restart'),
      ),
      { maxLength: 14 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        let { infos } = world()
        let last: SignedInfo | undefined
        for (const step of all) {
          if (step === 'restart') infos = world().infos
          else if (step === 'leader looks') {
            const verdict = infos.verdict('pump', last)
            const model = infos.accepted('pump', last)?.inventory.model
            if (model !== undefined) {
              if (last !== undefined) expect(Number(model)).toBeGreaterThanOrEqual(last.counter)
              last = verdict?.last
            }
          } else if (step === 'unsigned') infos.seen('pump', update('0', ''))
          else if (step === 'garbage')
            expect(() => infos.seen('pump', { key: 'pump', bytes: Buffer.from('x'), revision: 1 })).toThrow()
          else if (step === 'deleted') infos.seen('pump', { key: 'pump', bytes: undefined, revision: 1 })
          else infos.seen('pump', signed(String(step.counter), step.counter))
        }
      }),
      { numRuns: 60 },
    )
  })
})

test('FLEET-124: what a person is told to do takes in nothing that another wrote', () => {
  const { infos } = world()
  const told = (seen: ReturnType<typeof update>, last?: SignedInfo) => {
    infos.seen('pump', seen)
    return infos.verdict('pump', last)?.condition
  }
  const last = { counter: 5, nkey }
  expect(told(signed('old', 4), last)).toMatchObject({
    reason: 'Outdated',
    message: expect.stringContaining('delete the Device'),
  })
  expect(told(update('x', ''), last)).toMatchObject({
    reason: 'SignatureMissing',
    message: expect.not.stringContaining('delete'),
  })
  const another = told(signed('x', 6, next), last)
  expect(another).toMatchObject({ reason: 'NotItsOwn', message: expect.not.stringContaining('delete') })
  expect(another?.message).toContain('nats-devices')
})

test('FLEET-125: when one key is exchanged, no other signature is verified again', () => {
  const { infos, keys, asked } = world()
  const devices = Array.from({ length: 20 }, (_, n) => `p${n}`)
  for (const device of devices) {
    keys.set(device, own)
    const bytes = bytesOf('m')
    infos.seen(device, {
      key: device,
      bytes,
      revision: 1,
      signature: signInfo((text) => own.sign(text), device, 1, bytes),
    })
    infos.verdict(device, undefined)
  }
  const before = asked()
  keys.set('p0', next)
  infos.keysChanged(['p0'])
  for (const device of devices) infos.verdict(device, undefined)
  expect(asked() - before).toBe(1)
  expect(infos.verdict('p0', undefined)?.condition?.reason).toBe('NotItsOwn')
})
