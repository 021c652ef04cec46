import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { detach } from '#lib/process/detach.ts'
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

/** @throws Error when the files can't be read or don't fit each other */
export const readCertificate = async ({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<SecureContextOptions> => {
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

/**
 * Looks at the files again and again: new connections get the newest certificate. Files are replaced while we look, so a
 * pair that doesn't fit is left until the next look.
 * @returns how to stop
 */
export const watchCertificate = (
  server: Server,
  files: TlsFiles,
  first: SecureContextOptions,
  log: Logger,
): (() => Promise<void>) => {
  let current = JSON.stringify(first)
  const reload = async (): Promise<void> => {
    try {
      const options = await readCertificate(files)
      if (JSON.stringify(options) === current) return
      current = JSON.stringify(options)
      server.setSecureContext(options)
      log.info('the certificate was replaced', { file: files.certFile })
    } catch (error) {
      log.warn('the certificate can’t be read again, the one before stays', {
        file: files.certFile,
        error: error instanceof Error ? error.message : String(error),
      })
    }
  }
  const timer = setInterval(
    () => detach('reading the certificate', reload()),
    files.reloadInterval ?? RELOAD_INTERVAL_MS,
  )
  return async () => clearInterval(timer)
}
