/** The certificates of one cluster: an authority of its own, and what it signs for the API server and its clients. */
import { replaceFile } from '#lib/replace-file.ts'
import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const AUTHORITY_VALIDITY_MS = 10 * 365 * 24 * 3_600_000
/** Machines disagree on the time. */
const CLOCK_SKEW_MS = 5 * 60_000

/** What is signed, by the name of its file: https://kubernetes.io/docs/setup/best-practices/certificates */
const LEAVES = {
  apiserver: { subject: 'CN=kube-apiserver', usage: x509.ExtendedKeyUsage.serverAuth },
  admin: { subject: 'O=system:masters, CN=admin', usage: x509.ExtendedKeyUsage.clientAuth },
  'controller-manager': { subject: 'CN=system:kube-controller-manager', usage: x509.ExtendedKeyUsage.clientAuth },
} as const

export type Leaf = keyof typeof LEAVES

/** The authority's certificate, without its key: what clients trust. */
export const authorityFile = (folder: string): string => join(folder, 'ca.crt')

/** Certificate and key in one file, so that no reader sees one without the other. */
export const leafFile = (folder: string, leaf: Leaf): string => join(folder, `${leaf}.pem`)

/**
 * Makes what is missing, and makes anew what has less than a third of its life left. The API server and its clients read their files again
 * by themselves.
 * @param validityMs of what the authority signs
 * @param now milliseconds since the epoch
 */
export const ensureCertificates = async (folder: string, validityMs: number, now: number): Promise<void> => {
  if (!existsSync(authorityFile(folder))) await createAuthority(folder, now)
  for (const leaf of Object.keys(LEAVES) as Leaf[])
    if (!(await isFresh(leafFile(folder, leaf), validityMs, now))) await signLeaf(folder, leaf, validityMs, now)
}

const isFresh = async (file: string, validityMs: number, now: number): Promise<boolean> =>
  existsSync(file) && new x509.X509Certificate(await readFile(file, 'utf8')).notAfter.getTime() - now > validityMs / 3

const createAuthority = async (folder: string, now: number): Promise<void> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=local-clusters',
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + AUTHORITY_VALIDITY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  await replaceFile(authorityKeyFile(folder), await privateKeyOf(keys))
  // Written last: an authority is there when its certificate is.
  await replaceFile(authorityFile(folder), `${certificate.toString('pem')}\n`)
}

const authorityKeyFile = (folder: string): string => join(folder, 'ca.key')

const signLeaf = async (folder: string, leaf: Leaf, validityMs: number, now: number): Promise<void> => {
  const authority = new x509.X509Certificate(await readFile(authorityFile(folder), 'utf8'))
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(await readFile(authorityKeyFile(folder), 'utf8')),
    ALGORITHM,
    false,
    ['sign'],
  )
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { subject, usage } = LEAVES[leaf]
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: authority.subject,
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + validityMs),
    signingKey,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(authority),
    ],
  })
  await replaceFile(leafFile(folder, leaf), `${certificate.toString('pem')}\n${await privateKeyOf(keys)}`)
}

const privateKeyOf = async (keys: webcrypto.CryptoKeyPair): Promise<string> =>
  `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`

/** Positive, as RFC 5280 asks. */
const serialNumber = (): string => `00${randomBytes(16).toString('hex')}`
