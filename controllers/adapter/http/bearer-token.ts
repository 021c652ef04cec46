/** Where the token comes from that requests to the HyperFleet API carry. */
import { readFile } from 'node:fs/promises'
import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../errors.ts'

export interface BearerToken {
  /** For one request. @throws NoTokenError */
  read(): Promise<string>
  /** The API did not take this one. @returns whether another one is to be had for the same request */
  reject(token: string): boolean
}

/** There is no token, so the request is not sent. */
export class NoTokenError extends errorOf(ADAPTER_ERRORS, 'NoTokenError') {}

/** Read for every request: tokens are rotated under us. */
export const fileToken = (file: string): BearerToken => ({
  read: async () => {
    const token = (await readFile(file, 'utf8')).trim()
    if (token === '') throw new NoTokenError(`the token file ${file} is empty`)
    return token
  },
  reject: () => false,
})
