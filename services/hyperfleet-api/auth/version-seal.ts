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

/** One block: version, 8 bytes; what makes it another text each time, 4 bytes; zeros, which no other key gives, 4 bytes. */
const BLOCK_BYTES = 16
const CIPHER = 'aes-256-ecb'
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
      const block = Buffer.alloc(BLOCK_BYTES)
      block.writeBigUInt64BE(BigInt(version), 0)
      randomBytes(4).copy(block, 8)
      const cipher = createCipheriv(CIPHER, keyOf(tenancy), null).setAutoPadding(false)
      return Buffer.concat([cipher.update(block), cipher.final()]).toString('base64url')
    },
    open: (text, tenancy) => {
      if (tenancy === undefined) return /^\d{1,16}$/.test(text) ? Number(text) : undefined
      const sealed = Buffer.from(text, 'base64url')
      if (sealed.length !== BLOCK_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, keyOf(tenancy), null).setAutoPadding(false)
      const block = Buffer.concat([decipher.update(sealed), decipher.final()])
      const version = block.readBigUInt64BE(0)
      return block.readUInt32BE(12) === 0 && version <= Number.MAX_SAFE_INTEGER ? Number(version) : undefined
    },
  }
}
