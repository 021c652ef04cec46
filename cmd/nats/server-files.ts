/** The folder that nats-server reads its users and its certificate from, and how it is told of a change. NATS-3, NATS-4. */
import { X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { createUser, fromSeed } from '@nats-io/nkeys'
import { connect } from '@nats-io/transport-node'
import { readCredentials, tlsOptions } from '#lib/nats/security.ts'
import { replaceFile } from '#lib/replace-file.ts'
import {
  bundleOf,
  isSignedBy,
  isUsable,
  type KeyPair,
  renewalOf,
  signerOf,
  signLeaf,
} from '#operator/admission/certificates.ts'
import { Failure } from '../failure.ts'
import { AUTHORITY_DISTRIBUTION_MS } from './objects.ts'

/** The paths of what is in the folder. */
export const filesIn = (folder: string) => {
  const path = (name: string) => join(resolve(folder), name)
  return {
    users: path('users.conf'),
    certificate: path('tls.crt'),
    key: path('tls.key'),
    ca: path('ca.crt'),
    /** Every authority whose certificate the server may still show. */
    loadedCa: path('loaded-ca.crt'),
    /** The seed of our own key, which never leaves the pod. */
    system: path('system.nk'),
  }
}
export type ServerFiles = ReturnType<typeof filesIn>

export const textOf = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** @returns whether it held something else */
export const write = async (path: string, text: string): Promise<boolean> => {
  if ((await textOf(path)) === text) return false
  await replaceFile(path, text)
  return true
}

export const makeFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** The public key of this program's own user; its seed is made when it is not there. */
export const keepSystemKey = async ({ system }: ServerFiles): Promise<string> => {
  const seed = await textOf(system)
  if (seed !== undefined) return fromSeed(new TextEncoder().encode(seed.trim())).getPublicKey()
  const pair = createUser()
  await replaceFile(system, `${new TextDecoder().decode(pair.getSeed())}\n`)
  return pair.getPublicKey()
}

/**
 * Writes the authorities. What the server has loaded may be of another one, which is lost: it is trusted by us alone, until the server
 * has been told.
 */
const keepCa = async ({ ca, loadedCa }: ServerFiles, authorities: readonly KeyPair[]): Promise<void> => {
  const now = bundleOf(authorities)
  const before = (await textOf(loadedCa)) ?? (await textOf(ca)) ?? ''
  await write(loadedCa, before.includes(now) ? before : `${before}${now}`)
  await write(ca, now)
}

/** Signs another certificate when the one that is there will end, is for other hosts or of another authority. @returns whether it did */
export const keepCertificate = async (
  files: ServerFiles,
  authorities: readonly KeyPair[],
  hosts: readonly string[],
  now: number,
): Promise<boolean> => {
  await keepCa(files, authorities)
  const [certificate, key] = [await textOf(files.certificate), await textOf(files.key)]
  if (
    certificate !== undefined &&
    key !== undefined &&
    (await isGoodFor({ certificate, key }, authorities, hosts, now))
  )
    return false
  const signer = signerOf(authorities, now, AUTHORITY_DISTRIBUTION_MS)
  if (signer === undefined) throw new Failure('there is no authority to sign the certificate of NATS')
  const leaf = await signLeaf(signer, hosts, now)
  await write(files.key, leaf.key)
  await write(files.certificate, leaf.certificate)
  return true
}

/** Whether a certificate is to be shown still: it has its key and its time has come, is for the hosts, of one of the authorities, and far from its end. */
export const isGoodFor = async (
  { certificate, key }: KeyPair,
  authorities: readonly KeyPair[],
  hosts: readonly string[],
  now: number,
): Promise<boolean> => {
  // A crash between the two files leaves one of each pair.
  if (!isUsable({ certificate, key }, now) || renewalOf(certificate) <= now) return false
  const read = new X509Certificate(certificate)
  const isFor = (host: string) => (isIP(host) === 0 ? read.checkHost(host) : read.checkIP(host)) !== undefined
  if (!hosts.every(isFor)) return false
  const signed = await Promise.all(authorities.map((one) => isSignedBy(certificate, one.certificate)))
  return signed.includes(true)
}

const RELOAD_TIMEOUT_MS = 30_000

/** Has the server read its configuration again. @throws Failure that says why it does not */
export const reload = async (url: string, files: ServerFiles): Promise<void> => {
  const authenticator = await readCredentials(files.system)
  const connection = await connect({
    servers: url,
    name: 'muster nats',
    reconnect: false,
    ...tlsOptions(url, files.loadedCa),
    ...(authenticator !== undefined && { authenticator }),
  })
  try {
    const subject = `$SYS.REQ.SERVER.${connection.info?.server_id}.RELOAD`
    const { error } = (await connection.request(subject, '', { timeout: RELOAD_TIMEOUT_MS })).json<Reloaded>()
    if (error !== undefined)
      throw new Failure(`nats-server does not take its configuration: ${error.description ?? JSON.stringify(error)}`)
    await write(files.loadedCa, (await textOf(files.ca)) ?? '')
  } finally {
    await connection.close()
  }
}

/** What nats-server answers: server/events.go, ServerAPIResponse. */
interface Reloaded {
  readonly error?: { readonly description?: string }
}
