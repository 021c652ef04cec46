/** How an agent authenticates. AGENT-19. */

import { readFile } from 'node:fs/promises'
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, tokenAuthenticator } from '@nats-io/transport-node'
import { errorOf } from '#lib/errors/error-of.ts'
import { AGENT_ERRORS } from '../errors.ts'

/** Files, as flags name them; none of them for a server without authentication. */
export interface CredentialFiles {
  /** A seed of an nkey (`SU…`), or a `.creds` file with a JWT and a seed. */
  readonly creds: string | undefined
  readonly token: string | undefined
}

/** A file that holds no credentials; the message says what should be in it. */
export class CredentialsError extends errorOf(AGENT_ERRORS, 'CredentialsError') {}

/** Undefined when nothing is to be proved. @throws CredentialsError */
export const readAuthenticator = async (files: CredentialFiles): Promise<Authenticator | undefined> => {
  if (files.creds !== undefined) return credsIn(files.creds, await read(files.creds))
  if (files.token === undefined) return undefined
  const token = await read(files.token)
  if (token === '') throw new CredentialsError(`${files.token} is empty: it should hold a token`)
  return tokenAuthenticator(token)
}

const credsIn = (file: string, text: string): Authenticator => {
  const bytes = new TextEncoder().encode(text)
  if (text.includes('BEGIN NATS USER JWT')) return credsAuthenticator(bytes)
  if (/^SU[A-Z2-7]{56}$/.test(text)) return nkeyAuthenticator(bytes)
  throw new CredentialsError(
    `${file} holds no credentials of a NATS user: it should be a seed that begins with SU, as muster fleet credentials writes it, or a .creds file`,
  )
}

const read = async (file: string): Promise<string> => {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CredentialsError(`${file} ${code === 'ENOENT' ? 'does not exist' : `can't be read: ${message}`}`, {
      cause: error,
    })
  }
}
