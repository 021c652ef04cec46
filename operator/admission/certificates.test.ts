import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { authoritiesOf } from './ca-secret.ts'
import {
  bundleOf,
  createAuthority,
  isSignedBy,
  isUsable,
  isUsableAuthority,
  renewalOf,
  signerOf,
  signLeaf,
} from './certificates.ts'

const DAY_MS = 24 * 3_600_000
const NOW = Date.parse('2026-01-01T00:00:00Z')

describe('a certificate', () => {
  it('is for its hosts, signed by its authority and by no other', async () => {
    const authority = await createAuthority('muster', NOW)
    const other = await createAuthority('muster', NOW)
    const leaf = await signLeaf(authority, ['webhook.muster.svc', '127.0.0.1'], NOW)
    const certificate = new X509Certificate(leaf.certificate)
    expect(certificate.subjectAltName).toBe('DNS:webhook.muster.svc, IP Address:127.0.0.1')
    expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true)
    expect(await isSignedBy(leaf.certificate, authority.certificate)).toBe(true)
    expect(await isSignedBy(leaf.certificate, other.certificate)).toBe(false)
  })

  it('is renewed after two thirds of its life', async () => {
    const authority = await createAuthority('muster', NOW)
    const leaf = await signLeaf(authority, ['x'], NOW)
    expect((renewalOf(leaf.certificate) - NOW) / DAY_MS).toBeCloseTo((7 * 2) / 3, 1)
    expect((renewalOf(authority.certificate) - NOW) / DAY_MS).toBeCloseTo((365 * 2) / 3, 0)
  })
})

// API-189
describe('what can be used now', () => {
  it('is a certificate with its own key, whose time has come and not ended', async () => {
    const authority = await createAuthority('muster', NOW)
    const leaf = await signLeaf(authority, ['x'], NOW)
    expect(isUsable(leaf, NOW)).toBe(true)
    expect(isUsable(leaf, NOW - DAY_MS)).toBe(false)
    expect(isUsable(leaf, NOW + 7 * DAY_MS)).toBe(false)
    expect(isUsable({ ...leaf, key: authority.key }, NOW)).toBe(false)
    expect(isUsable({ ...leaf, certificate: leaf.certificate.slice(0, 100) }, NOW)).toBe(false)
    expect(isUsable({ ...leaf, key: '' }, NOW)).toBe(false)
  })

  it('of authorities is one that may sign', async () => {
    const authority = await createAuthority('muster', NOW)
    expect(isUsableAuthority(authority, NOW)).toBe(true)
    expect(isUsableAuthority(await signLeaf(authority, ['x'], NOW), NOW)).toBe(false)
  })
})

describe('of two authorities', () => {
  // RUNTIME-44
  it('the new one signs only when API servers had time to learn of it, and both are trusted', async () => {
    const previous = await createAuthority('muster', NOW - 200 * DAY_MS)
    const newest = await createAuthority('muster', NOW)
    expect(signerOf([newest, previous], NOW + 59_000)).toBe(previous)
    expect(signerOf([newest, previous], NOW + 60_000)).toBe(newest)
    expect(signerOf([newest], NOW)).toBe(newest)
    expect(bundleOf([newest, previous]).match(/-----BEGIN CERTIFICATE-----\n/g)).toHaveLength(2)
  })

  it('a Secret without them holds none', () => {
    expect(authoritiesOf(undefined)).toEqual([])
  })
})
