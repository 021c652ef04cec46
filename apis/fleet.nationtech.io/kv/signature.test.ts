import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findSigners, signEntry, verifyEntry } from './signature.ts'
import { FleetKeyError, newSigningKey, publicKeysOf, readPublicKeys, readSigningKeys } from './signing-keys.ts'

const [ours, next, foreign] = [newSigningKey(), newSigningKey(), newSigningKey()]
const signing = readSigningKeys(ours)
const known = readPublicKeys(publicKeysOf(signing))

const token = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/)
const keys = fc.tuple(token, token, token).map((parts) => parts.join('.'))
const entries = fc.record({ key: keys, bytes: fc.uint8Array({ maxLength: 300 }) })

const refusal = (verdict: ReturnType<typeof verifyEntry>): string | undefined =>
  verdict.verdict === 'Refused' ? verdict.reason : undefined

describe('a signature', () => {
  // FLEET-103, AGENT-48
  test('of whatever the operator writes is verified, by a device that knows one of its keys', () => {
    fc.assert(
      fc.property(entries, ({ key, bytes }) => {
        const both = readSigningKeys(`${ours}${next}`)
        for (const header of [signEntry(signing, key, bytes), signEntry(both, key, bytes)])
          expect(verifyEntry(known, key, bytes, header)).toEqual({ verdict: 'Verified' })
      }),
    )
  })

  // AGENT-48
  test('is refused for any changed bit of the value, and for any other device, namespace and Deployment', () => {
    fc.assert(
      fc.property(entries, keys, fc.nat(), ({ key, bytes }, other, at) => {
        const header = signEntry(signing, key, bytes)
        fc.pre(other !== key && bytes.length > 0)
        const changed = Uint8Array.from(bytes)
        const bit = at % (8 * bytes.length)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        for (const verdict of [
          verifyEntry(known, key, changed, header),
          verifyEntry(known, other, bytes, header),
          verifyEntry(known, key, bytes.slice(1), header),
        ])
          expect(refusal(verdict)).toContain('a signature that is not of it')
      }),
    )
  })

  // AGENT-48
  test('of any bytes as a header is refused, and never another error', () => {
    fc.assert(
      fc.property(
        entries,
        fc.oneof(
          fc.string(),
          fc.array(fc.string()).map((all) => all.join(',')),
        ),
        ({ key, bytes }, header) => {
          expect(verifyEntry(known, key, bytes, header).verdict).toBe('Refused')
        },
      ),
    )
  })

  // AGENT-48
  test('by another key is refused, also under the name of ours', () => {
    const bytes = Buffer.from('{}')
    const theirs = signEntry(readSigningKeys(foreign), 'a.b.c', bytes)
    const [id] = known.map((one) => one.id)
    expect(refusal(verifyEntry(known, 'a.b.c', bytes, theirs))).toContain(`and this device knows ${id}: give it`)
    expect(refusal(verifyEntry(known, 'a.b.c', bytes, `${id}:${theirs.split(':')[1]}`))).toContain('not of it')
    expect(refusal(verifyEntry(known, 'a.b.c', bytes, ''))).toContain('is not signed')
  })

  // FLEET-104
  test('is to be there of each key that signs; those of others disturb nothing', () => {
    const bytes = Buffer.from('{}')
    const both = readSigningKeys(`${ours}${next}`)
    const header = signEntry(both, 'a.b.c', bytes)
    const [first, second] = both.map(({ id }) => id)
    expect(findSigners(both, 'a.b.c', bytes, header)).toEqual([first, second])
    expect(findSigners(signing, 'a.b.c', bytes, header)).toEqual([first])
    expect(findSigners(both, 'a.b.c', bytes, signEntry(signing, 'a.b.c', bytes))).toEqual([first])
    expect(findSigners(signing, 'a.b.d', bytes, header)).toEqual([])
    expect(findSigners(signing, 'a.b.c', bytes, '')).toEqual([])
    expect(findSigners([], 'a.b.c', bytes, header)).toEqual([])
  })
})

// FLEET-103, AGENT-48
test('attack: what operators take for signed, devices verify: with whatever stands before the signatures', () => {
  fc.assert(
    fc.property(entries, fc.array(fc.string(), { maxLength: 12 }), ({ key, bytes }, before) => {
      const header = [...before, signEntry(signing, key, bytes)].join(',')
      if (findSigners(signing, key, bytes, header).length > 0)
        expect(verifyEntry(known, key, bytes, header)).toEqual({ verdict: 'Verified' })
    }),
  )
  const bytes = Buffer.from('{}')
  expect(findSigners(signing, 'a.b.c', bytes, `${'x,'.repeat(8)}${signEntry(signing, 'a.b.c', bytes)}`)).toEqual([])
})

describe('keys of the fleet', () => {
  test('both halves have one name', () => {
    expect(known.map(({ id }) => id)).toEqual(signing.map(({ id }) => id))
  })

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString()

  // AGENT-48
  test.for<[string, () => unknown, string]>([
    ['nothing', () => readPublicKeys(''), 'it should hold a public key of Ed25519'],
    ['a private key, which no device may have', () => readPublicKeys(ours), 'its block 1 should be a public key'],
    ['a key of another kind', () => readPublicKeys(`${publicKeysOf(signing)}${rsa}`), 'its block 2 is of rsa'],
    ['a public key to sign with', () => readSigningKeys(publicKeysOf(signing)), 'its block 1 should be a private key'],
    ['a ninth key', () => readSigningKeys(ours.repeat(9)), 'it has 9 keys, and at most 8 are used'],
    [
      'a block of a label that is not known, beside a key',
      () =>
        readPublicKeys(
          `${publicKeysOf(signing)}${publicKeysOf(signing).replaceAll('PUBLIC KEY', 'ED25519 PUBLIC KEY')}`,
        ),
      'its block 2 should be a public key',
    ],
    [
      'a key that was cut off, beside a whole one',
      () => readPublicKeys(`${publicKeysOf(signing)}${publicKeysOf(signing).slice(0, 60)}`),
      'it has a block that is not whole',
    ],
    [
      'a key with headers of its own, beside a whole one',
      () => readSigningKeys(`${ours}${next.replace('KEY-----\n', 'KEY-----\nDEK-Info: AES-256-CBC,00\n\n')}`),
      'it has a block that is not whole',
    ],
    [
      'a broken key',
      () => readSigningKeys('-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----'),
      "its block 1 can't be read",
    ],
  ])('%s is refused', ([, read, problem]) => {
    expect(read).toThrow(FleetKeyError)
    expect(read).toThrow(problem)
  })
})
