import 'reflect-metadata'
import { createPrivateKey, X509Certificate as ParsedCertificate, randomBytes, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly certificate: string
  readonly key: string
}

const DAY_MS = 24 * 3_600_000
const CA_LIFETIME_MS = 365 * DAY_MS
const LEAF_LIFETIME_MS = 7 * DAY_MS
/** Machines disagree on the time. */
const CLOCK_SKEW_MS = 5 * 60_000
/** How long API servers may take to learn a new CA from the webhook configurations. */
const CA_DISTRIBUTION_MS = 60_000

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** A new certificate authority. @param now milliseconds since the epoch @param lifetimeMs that of our webhooks' when absent */
export const createAuthority = async (name: string, now: number, lifetimeMs = CA_LIFETIME_MS): Promise<KeyPair> => {
  const keys = await generateKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + lifetimeMs),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return pairOf(certificate, keys)
}

export interface LeafOptions {
  /** RFC 4514; that of the first host when absent. */
  readonly subject?: string
  /** For a client, which has no hosts. */
  readonly isClient?: boolean
  readonly lifetimeMs?: number
}

/** A certificate signed by the authority: of a server for these hosts (names or IP addresses), or of a client. */
export const signLeaf = async (
  authority: KeyPair,
  hosts: readonly string[],
  now: number,
  { subject = `CN=${hosts[0] ?? 'webhook'}`, isClient = false, lifetimeMs = LEAF_LIFETIME_MS }: LeafOptions = {},
): Promise<KeyPair> => {
  const issuer = new x509.X509Certificate(authority.certificate)
  const keys = await generateKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: issuer.subject,
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + lifetimeMs),
    signingKey: await importKey(authority.key),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[isClient ? 'clientAuth' : 'serverAuth']]),
      ...(isClient ? [] : [alternativeNames(hosts)]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  })
  return pairOf(certificate, keys)
}

const alternativeNames = (hosts: readonly string[]) =>
  new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isAddress(value) ? 'ip' : 'dns', value })))

/** When a certificate is to be replaced, milliseconds since the epoch: after two thirds of its life. */
export const renewalOf = (certificate: string): number => {
  const { notBefore, notAfter } = new x509.X509Certificate(certificate)
  return notBefore.getTime() + ((notAfter.getTime() - notBefore.getTime()) * 2) / 3
}

/**
 * Whether it can be shown at this moment: the certificate can be read and has this key, and its time has come and has not ended. One of the
 * future was made while the machine's clock was ahead.
 */
export const isUsable = ({ certificate, key }: KeyPair, now: number): boolean => {
  const read = parsed(certificate, key)
  return read !== undefined && read.validFromDate.getTime() <= now && now < read.validToDate.getTime()
}

/** The same of an authority: it may sign others. */
export const isUsableAuthority = (pair: KeyPair, now: number): boolean =>
  isUsable(pair, now) && new ParsedCertificate(pair.certificate).ca

/** Undefined for what is no certificate with its key: someone wrote one of the two, or half of it. */
const parsed = (certificate: string, key: string): ParsedCertificate | undefined => {
  try {
    const read = new ParsedCertificate(certificate)
    return read.checkPrivateKey(createPrivateKey(key)) ? read : undefined
  } catch {
    return undefined
  }
}

/** Whether a certificate was signed by this authority, and is for these hosts. */
export const isSignedBy = async (leaf: string, authority: string): Promise<boolean> => {
  const issuer = new x509.X509Certificate(authority)
  return new x509.X509Certificate(leaf).verify({ publicKey: issuer.publicKey, signatureOnly: true })
}

/**
 * The authority that signs now, of those that are trusted, newest first: one that clients had time to learn of. RUNTIME-44.
 * @param distribution milliseconds that they may take
 */
export const signerOf = (
  authorities: readonly KeyPair[],
  now: number,
  distribution = CA_DISTRIBUTION_MS,
): KeyPair | undefined =>
  authorities.find(({ certificate }) => {
    const bornAt = new x509.X509Certificate(certificate).notBefore.getTime() + CLOCK_SKEW_MS
    return now - bornAt >= distribution
  }) ?? authorities.at(-1)

/** PEMs need a newline in between. */
export const bundleOf = (authorities: readonly KeyPair[]): string =>
  authorities.map(({ certificate }) => `${certificate.trim()}\n`).join('')

const generateKeys = (): Promise<CryptoKeyPair> => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])

type CryptoKeyPair = webcrypto.CryptoKeyPair

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign'])

const pairOf = async (certificate: x509.X509Certificate, keys: CryptoKeyPair): Promise<KeyPair> => ({
  certificate: certificate.toString('pem'),
  key: x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
})

/** Positive, as RFC 5280 asks. */
const serialNumber = (): string => `00${randomBytes(16).toString('hex')}`

const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':')
