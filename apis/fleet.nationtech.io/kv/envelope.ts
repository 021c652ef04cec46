/**
 * The form of every value in the buckets: canonical JSON (RFC 8785) of `{schema, generation, digest, payload}`.
 * The same content is always the same bytes, by every writer, so writers compare before they put. FLEET-21.
 */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { isObject } from '#lib/json/is-object.ts'
import { MalformedEntry } from './malformed.ts'

/** The form that this release writes. It reads no later one. */
const SCHEMA = 1

/** JSON as it may stand in a payload. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }
export type JsonObject = { readonly [key: string]: Json | undefined }

export interface Envelope<Payload = JsonObject> {
  /** Of the Deployment that the payload speaks of; 0 where it speaks of none. */
  readonly generation: number
  /** `sha256:` and the hash of the canonical payload, in hexadecimal digits. */
  readonly digest: string
  readonly payload: Payload
}

/** The canonical text. @throws TypeError for what is no JSON, such as NaN or a cycle: a mistake of the caller */
export const canonicalText = (value: unknown): string => {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('undefined is no JSON')
  return text
}

/** `sha256:` and 64 hexadecimal digits. */
export const digestOf = (value: unknown): string =>
  `sha256:${createHash('sha256').update(canonicalText(value)).digest('hex')}`

/** The bytes of a value. Equal content has equal bytes. */
export const seal = (payload: object, generation: number): Uint8Array =>
  Buffer.from(canonicalText({ schema: SCHEMA, generation, digest: digestOf(payload), payload }))

export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const text = new TextDecoder('utf-8', { fatal: true })

const parse = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(text.decode(bytes))
  } catch (error) {
    throw new MalformedEntry('Json', 'the value is no JSON in UTF-8', { cause: error })
  }
}

/**
 * What the bytes say. They need not be canonical: what matters is the content.
 * @throws MalformedEntry (Json, Shape, Schema, Digest)
 */
export const open = (bytes: Uint8Array): Envelope => {
  const value = parse(bytes)
  if (!isObject<Json | undefined>(value)) throw new MalformedEntry('Shape', 'the value is no object')
  const { schema, generation, digest, payload } = value
  if (!isCount(schema) || schema === 0) throw new MalformedEntry('Shape', 'schema is no whole number from 1 on')
  if (schema > SCHEMA)
    throw new MalformedEntry('Schema', `schema is ${schema}, this release reads up to ${SCHEMA}: update it`)
  if (!isCount(generation)) throw new MalformedEntry('Shape', 'generation is no whole number from 0 on')
  if (typeof digest !== 'string') throw new MalformedEntry('Shape', 'digest is no text')
  if (!isObject<Json | undefined>(payload)) throw new MalformedEntry('Shape', 'payload is no object')
  const found = digestIn(payload)
  if (digest !== found)
    throw new MalformedEntry(
      'Digest',
      `digest is ${JSON.stringify(digest.slice(0, 80))}, but that of the payload is ${found}`,
    )
  return { generation, digest: found, payload }
}

/** JSON may say what canonical JSON can't: half a character, and numbers too large to be read. @throws MalformedEntry (Json) */
const digestIn = (payload: JsonObject): string => {
  try {
    return digestOf(payload)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new MalformedEntry('Json', `the payload can't be hashed: ${why}`, { cause: error })
  }
}

/** A whole number from 0 on. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
