/** The certificates of one cluster: an authority of its own, and what it signs for the API server and its clients. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '#lib/replace-file.ts'
import { createAuthority, type LeafOptions, signLeaf } from '#operator/admission/certificates.ts'

const AUTHORITY_VALIDITY_MS = 10 * 365 * 24 * 3_600_000
const HOSTS = ['127.0.0.1', 'localhost']

/** What is signed, by the name of its file: https://kubernetes.io/docs/setup/best-practices/certificates */
const LEAVES = {
  apiserver: { subject: 'CN=kube-apiserver' },
  admin: { subject: 'O=system:masters, CN=admin', isClient: true },
  'controller-manager': { subject: 'CN=system:kube-controller-manager', isClient: true },
} as const satisfies Record<string, LeafOptions>

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
  if (!existsSync(authorityFile(folder))) await writeAuthority(folder, now)
  for (const leaf of Object.keys(LEAVES) as Leaf[])
    if (!(await isFresh(leafFile(folder, leaf), validityMs, now))) await writeLeaf(folder, leaf, validityMs, now)
}

const isFresh = async (file: string, validityMs: number, now: number): Promise<boolean> =>
  existsSync(file) && new X509Certificate(await readFile(file)).validToDate.getTime() - now > validityMs / 3

const writeAuthority = async (folder: string, now: number): Promise<void> => {
  const { certificate, key } = await createAuthority('local-clusters', now, AUTHORITY_VALIDITY_MS)
  await replaceFile(authorityKeyFile(folder), `${key}\n`)
  // Written last: an authority is there when its certificate is.
  await replaceFile(authorityFile(folder), `${certificate}\n`)
}

const authorityKeyFile = (folder: string): string => join(folder, 'ca.key')

const writeLeaf = async (folder: string, leaf: Leaf, lifetimeMs: number, now: number): Promise<void> => {
  const authority = {
    certificate: await readFile(authorityFile(folder), 'utf8'),
    key: await readFile(authorityKeyFile(folder), 'utf8'),
  }
  const { certificate, key } = await signLeaf(authority, HOSTS, now, { ...LEAVES[leaf], lifetimeMs })
  await replaceFile(leafFile(folder, leaf), `${certificate}\n${key}\n`)
}
