import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Tenancy } from './tenancy.ts'

/**
 * Versions are of the whole API: a tenant that reads one now and one later would know how much all others have written. So a tenant is shown
 * each one as a text of its own: which version it stands for only the API knows, and two texts of one version differ. API-174.
 */
export interface VersionSeal {
  /** What a caller is shown for a version; the number itself to callers of the system, and where there are no tenants. */
  seal(version: number, tenancy: Tenancy | undefined): string
  /** @returns undefined for what was never shown to this caller */
  open(text: string, tenancy: Tenancy | undefined): number | undefined
}

/**
 * What makes it another text each time, then the version, then what no other key gives. With fewer bytes of chance a caller that reads very many texts
 * would see some twice, and only those of one version.
 */
const NONCE_BYTES = 12
const VERSION_BYTES = 8
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
/** Keys of tenants that are kept ready. */
const MAX_KEYS = 1_000

/** @param secret the API's own, which all its replicas have */
export const createVersionSeal = (secret: string): VersionSeal => {
  const keys = new Map<string, Buffer>()
  const keyOf = (tenancy: Tenancy): Buffer => {
    const name = JSON.stringify(Object.entries(tenancy).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    const known = keys.get(name)
    if (known !== undefined) return known
    const key = Buffer.from(hkdfSync('sha256', secret, 'muster versions of tenants', name, KEY_BYTES))
    // Callers name tenants: as many as they like.
    if (keys.size >= MAX_KEYS) keys.clear()
    keys.set(name, key)
    return key
  }
  return {
    seal: (version, tenancy) => {
      if (tenancy === undefined) return String(version)
      const nonce = randomBytes(NONCE_BYTES)
      const plain = Buffer.alloc(VERSION_BYTES)
      plain.writeBigUInt64BE(BigInt(version))
      const cipher = createCipheriv(CIPHER, keyOf(tenancy), nonce)
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    },
    open: (text, tenancy) => {
      if (tenancy === undefined) return /^\d{1,16}$/.test(text) ? Number(text) : undefined
      const sealed = Buffer.from(text, 'base64url')
      if (sealed.length !== NONCE_BYTES + VERSION_BYTES + TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, keyOf(tenancy), sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        const plain = [decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
        return Number(Buffer.concat(plain).readBigUInt64BE())
      } catch {
        // Another tenant was shown it, or none.
        return undefined
      }
    },
  }
}
