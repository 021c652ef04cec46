/** How a client of NATS proves its name, and knows the server: by files that are read anew for each connection. NATS-6. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  nkeyAuthenticator,
} from '@nats-io/transport-node'

/** The seed of a user's nkey; the second group of characters holds the key and its checksum. */
const SEED = /^SU[A-Z2-7]{56}$/

/** As nats-server makes them: base64 for URLs, 15 characters. */
const NONCE = /^[A-Za-z0-9_-]{1,64}$/

/** A server chooses what is signed: nothing that could be a signed text of another use. NATS-23. */
const ofNonces =
  (sign: Authenticator): Authenticator =>
  (nonce) =>
    nonce === undefined || nonce === '' || NONCE.test(nonce) ? sign(nonce) : undefined

/** By the seed of an nkey (`SU…`), or a `.creds` file with a JWT and a seed; undefined for a text that is neither. */
export const authenticatorIn = (text: string): Authenticator | undefined => {
  const bytes = new TextEncoder().encode(text.trim())
  if (text.includes('BEGIN NATS USER JWT')) return ofNonces(credsAuthenticator(bytes))
  return SEED.test(text.trim()) ? ofNonces(nkeyAuthenticator(bytes)) : undefined
}

/**
 * Reads the file at every connection, a connection that recovers by itself included.
 * @param first what the file held, which is used for as long as it can't be read: an authenticator that throws ends a connection for good
 */
export const rereading = (file: string, first: Authenticator): Authenticator => {
  let known = first
  return (nonce) => {
    try {
      known = authenticatorIn(readFileSync(file, 'utf8')) ?? known
    } catch {
      // It is being replaced; the server says no to what is out of date, and the next attempt reads it again.
    }
    return known(nonce)
  }
}

/**
 * What a file proves, read again for each connection; undefined when there is no file.
 * @throws Error that says what is wrong with the file
 */
export const readCredentials = async (file: string | undefined): Promise<Authenticator | undefined> => {
  if (file === undefined) return undefined
  const authenticator = authenticatorIn(await readFile(file, 'utf8'))
  if (authenticator !== undefined) return rereading(file, authenticator)
  throw new Error(`${file} holds no credentials of a NATS user: neither a seed that begins with SU, nor a JWT`)
}

/**
 * With authorities of its own, or by `tls://`, a client speaks TLS or not at all. The file is read at every connection.
 * @param ca path of a file with certificates of authorities, PEM; undefined for those of the machine
 */
export const tlsOptions = (url: string, ca: string | undefined): Pick<ConnectionOptions, 'tls'> => {
  if (ca !== undefined) return { tls: { caFile: ca } }
  return /(^|,)tls:/.test(url) ? { tls: {} } : {}
}
