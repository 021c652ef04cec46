import { readFile } from 'node:fs/promises'
import { get as getPlain, type IncomingMessage } from 'node:http'
import { get as getSecure } from 'node:https'
import { text } from 'node:stream/consumers'
import type { JSONWebKeySet } from 'jose'
import { AbortScope } from '#lib/abort/abort-scope.ts'
import type { KeySource } from './keys.ts'

/** Where an issuer's keys are: a file, or a URL. */
export type KeyLocation =
  | { readonly file: string }
  | {
      readonly url: string
      /** PEM file of the authorities that may certify the server; the public ones when undefined. */
      readonly caFile?: string | undefined
      /** File with a bearer token to ask with, read each time. */
      readonly tokenFile?: string | undefined
    }

/** Milliseconds that a server has to answer. */
const FETCH_TIMEOUT_MS = 5_000
/** Bytes; far above any issuer's. */
const MAX_KEY_SET_BYTES = 1024 * 1024

export const openKeySource = (place: KeyLocation): KeySource =>
  'file' in place
    ? { name: place.file, read: async () => parseKeySet(await readFile(place.file, 'utf8'), place.file) }
    : { name: place.url, read: async () => parseKeySet(await fetchText(place), place.url) }

const parseKeySet = (json: string, where: string): JSONWebKeySet => {
  let document: unknown
  try {
    document = JSON.parse(json)
  } catch (error) {
    throw new Error(`${where} is not JSON`, { cause: error })
  }
  if (typeof document === 'object' && document !== null && 'keys' in document && Array.isArray(document.keys))
    return document as JSONWebKeySet
  throw new Error(`${where} is no JSON Web Key Set: it must be an object with a list "keys" (RFC 7517)`)
}

const fetchText = async ({ url, caFile, tokenFile }: Extract<KeyLocation, { url: string }>): Promise<string> => {
  const headers = {
    Accept: 'application/jwk-set+json, application/json',
    ...(tokenFile !== undefined && { Authorization: `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}` }),
  }
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8')
  const get = url.startsWith('https:') ? getSecure : getPlain
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  using limit = new AbortScope().within(FETCH_TIMEOUT_MS)
  const request = get(url, { headers, ca, agent: false, signal: limit.signal }, resolve)
  request.once('error', reject)
  const response = await promise
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_KEY_SET_BYTES) response.destroy(new Error(`${url} answers more than ${MAX_KEY_SET_BYTES} bytes`))
  })
  const body = await text(response)
  if (response.statusCode !== 200) throw new Error(`${url} answers ${response.statusCode}`)
  return body
}
