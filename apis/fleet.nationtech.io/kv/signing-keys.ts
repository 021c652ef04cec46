/** The keys of the fleet: what signs entries of fleet-desired, and what devices know them by. Ed25519, PEM. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { errorOf } from '#lib/errors/error-of.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { APIS_ERRORS } from '../../errors.ts'

/** A key with its name, which is made of its public half: both halves have the same. */
export interface FleetKey {
  /** 16 hexadecimal digits. */
  readonly id: string
  readonly key: KeyObject
}

/** Of the keys of one text: each adds to every entry, and takes a device about a tenth of a millisecond. */
export const MAX_KEYS = 8

/** A text that holds no keys of the fleet; the message says what should be in it. */
export class FleetKeyError extends errorOf(APIS_ERRORS, 'FleetKeyError') {}

/** What signs, in the order of the text. Several while keys are exchanged. @throws FleetKeyError */
export const readSigningKeys = (pem: string): readonly FleetKey[] =>
  readKeys(
    pem,
    'PRIVATE KEY',
    'a private key of Ed25519, PEM, as `openssl genpkey -algorithm ed25519` makes it',
    (block) => {
      const key = createPrivateKey(block)
      return { id: keyId(createPublicKey(key)), key }
    },
  )

/** What devices know signatures by. @throws FleetKeyError, also for a private key: a device must have none */
export const readPublicKeys = (pem: string): readonly FleetKey[] =>
  readKeys(pem, 'PUBLIC KEY', 'a public key of Ed25519, PEM, as the ConfigMap fleet-signing has it', (block) => {
    const key = createPublicKey(block)
    return { id: keyId(key), key }
  })

/** Another key that signs, PEM. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** The public halves, PEM, in the same order. */
export const publicKeysOf = (keys: readonly FleetKey[]): string =>
  keys.map(({ key }) => createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()).join('')

/** Two keys of one name would have the same 64 bits of SHA-256: then each signature is tried by both. */
const keyId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16)

/** Of any label: one that is not known is refused, and not skipped. */
const BLOCK = /-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g

const readKeys = (pem: string, label: string, what: string, read: (block: string) => FleetKey): readonly FleetKey[] => {
  if (pem.replace(BLOCK, '').includes('-----'))
    throw new FleetKeyError(`it has a block that is not whole, each should be ${what}`)
  const blocks = pem.match(BLOCK) ?? []
  if (blocks.length === 0) throw new FleetKeyError(`it should hold ${what}`)
  if (blocks.length > MAX_KEYS)
    throw new FleetKeyError(`it has ${blocks.length} keys, and at most ${MAX_KEYS} are used: take former ones out`)
  return blocks.map((block, index) => {
    const which = `its block ${index + 1}`
    if (!block.startsWith(`-----BEGIN ${label}-----`)) throw new FleetKeyError(`${which} should be ${what}`)
    let key: FleetKey
    try {
      key = read(block)
    } catch (error) {
      throw new FleetKeyError(`${which} can't be read, it should be ${what}: ${messageOf(error)}`, { cause: error })
    }
    if (key.key.asymmetricKeyType !== 'ed25519')
      throw new FleetKeyError(`${which} is of ${key.key.asymmetricKeyType}, it should be ${what}`)
    return key
  })
}
