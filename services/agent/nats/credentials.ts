/** How an agent authenticates. AGENT-19. */

import { readFile } from 'node:fs/promises'
import { type Authenticator, tokenAuthenticator } from '@nats-io/transport-node'
import { errorOf } from '#lib/errors/error-of.ts'
import { authenticatorIn, rereading } from '#lib/nats/security.ts'
import { AGENT_ERRORS } from '../errors.ts'

/** Files, as flags name them; none of them for a server without authentication. */
export interface CredentialFiles {
  /** A seed of an nkey (`SU…`), or a `.creds` file with a JWT and a seed. */
  readonly creds: string | undefined
  readonly token: string | undefined
}

/** A file that holds no credentials; the message says what should be in it. */
export class CredentialsError extends errorOf(AGENT_ERRORS, 'CredentialsError') {}

/** Undefined when nothing is to be proved. What `creds` holds is read again for each connection. @throws CredentialsError */
export const readAuthenticator = async (files: CredentialFiles): Promise<Authenticator | undefined> => {
  if (files.creds !== undefined) return credsIn(files.creds, await read(files.creds))
  if (files.token === undefined) return undefined
  const token = await read(files.token)
  if (token === '') throw new CredentialsError(`${files.token} is empty: it should hold a token`)
  return tokenAuthenticator(token)
}

const credsIn = (file: string, text: string): Authenticator => {
  const authenticator = authenticatorIn(text)
  if (authenticator !== undefined) return rereading(file, authenticator)
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
