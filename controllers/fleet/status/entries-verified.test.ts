import { describe, expect, test } from 'vitest'
import { verificationConditions } from './entries-verified.ts'

const [first, next] = ['00000000000000aa', '00000000000000bb']

const said = (signing: readonly string[], publicKeys?: readonly string[]) =>
  verificationConditions({ signing, info: publicKeys ? { publicKeys } : {}, before: undefined, generation: 3 })

// FLEET-105
describe('EntriesVerified', () => {
  test.for<[string, readonly string[], readonly string[] | undefined, string, string]>([
    ['an agent without public keys', [first], undefined, 'False', 'NoPublicKeys'],
    ['an agent that knows another key', [first], [next], 'False', 'KeyUnknown'],
    ['an agent whose keys are none', [first], ['all of them'], 'False', 'KeyUnknown'],
    ['an agent that knows the key', [first], [first], 'True', 'KeyKnown'],
    // FLEET-117: during an exchange the operator signs by both.
    ['an agent that knows both while both sign', [next, first], [first, next], 'True', 'KeyKnown'],
    ['attack: an agent that still takes a former key, which was stolen', [next], [next, first], 'False', 'OtherKeys'],
    ['attack: one that also takes a key of another', [first, next], [first, 'ee'.repeat(8)], 'False', 'OtherKeys'],
    ['an agent that does not know the next key yet', [first, next], [first], 'True', 'KeyMissing'],
  ])('%s', ([, signing, publicKeys, status, reason]) => {
    expect(said(signing, publicKeys)).toEqual([
      { type: 'EntriesVerified', status, reason, message: expect.any(String), observedGeneration: 3 },
    ])
  })

  test('is not there where nothing is signed, and Unknown where it was there before', () => {
    expect(said([], [first])).toEqual([])
    const before = [
      { type: 'EntriesVerified', status: 'True', reason: 'KeyKnown', message: '', lastTransitionTime: '' },
    ] as const
    const input = { signing: [], info: {}, before, generation: undefined }
    expect(verificationConditions(input)).toMatchObject([{ status: 'Unknown', reason: 'NotSigned' }])
  })

  test('stays as it is while the agent has said nothing', () => {
    expect(verificationConditions({ signing: [first], info: undefined, before: undefined, generation: 1 })).toEqual([])
  })

  test('tells no text of a device', () => {
    expect(said([first], ['\nall is well'])[0]?.message).not.toContain('well')
  })
})
