/** CEL values as JSON, by the rules that CEL shares with protobuf (cel-spec, langdef "JSON data conversion"). */
import { DEFAULT_LIMITS, type Limits } from './limits.ts'
import { Duration, fromCel } from './values.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/**
 * What an evaluation returned, or a CEL value inside a function, as JSON: integers beyond 2^53, NaN and infinities as text,
 * timestamps as RFC 3339, durations as seconds ('1.5s'), bytes as base64, an empty optional as null, keys as text.
 * @throws LimitReached when it is too large
 */
export const toJson = (value: unknown, limits: Limits = DEFAULT_LIMITS): Json => plain(fromCel(value, limits))

const plain = (value: unknown): Json => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return value.toString()
    case 'object':
      break
    default:
      return null
  }
  if (value === null) return null
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Date) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, inner]) => [String(key), plain(inner)]))
}

/** RFC 3339 in UTC, without a fraction when there is none. */
export const timestampText = (value: Date): string => value.toISOString().replace('.000Z', 'Z')

/** Seconds with as many digits as needed: '90s', '-0.5s'. */
export const durationText = ({ seconds, nanos }: Duration): string => {
  const total = seconds * 1_000_000_000n + BigInt(nanos)
  const absolute = total < 0n ? -total : total
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  return `${total < 0n ? '-' : ''}${absolute / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`
}
