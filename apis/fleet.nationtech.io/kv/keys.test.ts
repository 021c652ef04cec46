import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deviceKey, keysOfDevice, parseDeviceKey, parsePlacementKey, placementKey } from './keys.ts'
import { MalformedEntry } from './malformed.ts'

const token = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/)
const placement = fc.record({ device: token, namespace: token, deployment: token })

describe('keys', () => {
  test('a key says again what it was made of', () => {
    fc.assert(
      fc.property(placement, (one) => {
        expect(parsePlacementKey(placementKey(one))).toEqual(one)
      }),
    )
    expect(parseDeviceKey(deviceKey('pi-4'))).toBe('pi-4')
  })

  // FLEET-21
  test('two placements never share a key, nor does one have the form of a device’s', () => {
    fc.assert(
      fc.property(placement, placement, (a, b) => {
        expect(placementKey(a) === placementKey(b)).toBe(JSON.stringify(a) === JSON.stringify(b))
        expect(() => parseDeviceKey(placementKey(a))).toThrow(MalformedEntry)
        expect(() => parsePlacementKey(deviceKey(a.device))).toThrow(MalformedEntry)
      }),
    )
  })

  test('whatever the key, reading it either says what makes the same key or throws MalformedEntry', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(fc.string({ maxLength: 3 })).map((all) => all.join('.')),
        ),
        (key) => {
          try {
            expect(placementKey(parsePlacementKey(key))).toBe(key)
          } catch (error) {
            expect(error).toMatchObject({ name: 'MalformedEntry', reason: 'Key' })
          }
        },
      ),
    )
  })

  test.each(['', 'a', 'a.b', 'a.b.c.d', 'a..c', '.b.c', 'a.b.'])('%j is no key of a placement', (key) => {
    expect(() => parsePlacementKey(key)).toThrow(MalformedEntry)
  })

  test.each(['', 'A', 'a.b', 'a*', 'a>', 'a b', '-a', 'a-', 'ü', 'a'.repeat(64), 'a/b', 'a\n'])(
    '%j is no name of a device',
    (device) => {
      expect(() => keysOfDevice(device)).toThrow(
        `${JSON.stringify(device)} can't be the name of a device: write at most 63 lower case letters, digits and inner hyphens`,
      )
    },
  )
})
