import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { detach } from '#lib/process/detach.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'

/** The API's certificate, and which clients may connect. */
export interface TlsFiles {
  /** PEM: the certificate, then those between it and its authority. */
  readonly certFile: string
  /** PEM. */
  readonly keyFile: string
  /** PEM: with it, only clients with a certificate of these authorities may connect. */
  readonly clientCaFile?: string | undefined
  /** Milliseconds between two looks at the files; 10 s when undefined. */
  readonly reloadInterval?: number | undefined
}

const RELOAD_INTERVAL_MS = 10_000

/** Authorities that renew by themselves have done so long before. */
const SOON_MS = 7 * 24 * 3_600_000

/** As `readCertificate` has found it. */
export interface Certificate extends SecureContextOptions {
  readonly cert: string
}

/** @throws Error when the files can't be read or don't fit each other */
export const readCertificate = async ({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<Certificate> => {
  const [cert, key, ca] = await Promise.all([
    readFile(certFile, 'utf8'),
    readFile(keyFile, 'utf8'),
    clientCaFile === undefined ? undefined : readFile(clientCaFile, 'utf8'),
  ])
  // A context is made of anything, also of a file that is being written and still empty.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error(`${keyFile} is not the key of ${certFile}`)
  if (ca !== undefined) new X509Certificate(ca)
  return { cert, key, ...(ca !== undefined && { ca }), minVersion: 'TLSv1.2' }
}

/** What is to be told of a certificate whose last moment is `end`: callers refuse it after that, and nothing else shows it here. */
const concernAbout = (end: Date, now: Date): string | undefined => {
  const left = end.getTime() - now.getTime()
  if (left <= 0) return 'the certificate has expired, and callers refuse it: write a new one into its files'
  return left <= SOON_MS ? 'the certificate expires soon: write a new one into its files' : undefined
}

/**
 * Looks at the files again and again: new connections get the newest certificate. Files are replaced while we look, so a
 * pair that doesn't fit is left until the next look. Says once of each certificate that it expires soon, and that it has expired.
 * @returns how to stop
 */
export const watchCertificate = (
  server: Server,
  files: TlsFiles,
  first: Certificate,
  log: Logger,
  clock: Clock,
): (() => Promise<void>) => {
  let current = first
  let concern: string | undefined
  const judge = (): void => {
    const { validToDate: end } = new X509Certificate(current.cert)
    const before = concern
    concern = concernAbout(end, clock.now())
    if (concern !== undefined && concern !== before) log.warn(concern, { file: files.certFile, end: end.toISOString() })
  }
  const reload = async (): Promise<void> => {
    try {
      const options = await readCertificate(files)
      if (JSON.stringify(options) === JSON.stringify(current)) return
      current = options
      concern = undefined
      server.setSecureContext(options)
      log.info('the certificate was replaced', { file: files.certFile })
    } catch (error) {
      log.warn('the certificate can’t be read again, the one before stays', {
        file: files.certFile,
        error: error instanceof Error ? error.message : String(error),
      })
    }
  }
  judge()
  const timer = setInterval(
    () => detach('reading the certificate', reload().then(judge)),
    files.reloadInterval ?? RELOAD_INTERVAL_MS,
  )
  return async () => clearInterval(timer)
}
