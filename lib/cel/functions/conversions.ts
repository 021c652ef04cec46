/** Conversions between types, by the CEL language definition. */
import { durationText, timestampText } from '../json.ts'
import { type Duration, UnsignedInt } from '../values.ts'
import { type CelFunction, functionError } from './function.ts'
import { parseDuration, parseTimestamp, secondsOf, timestampOf } from './times.ts'

const same = (value: unknown): unknown => value

const MAX_UINT = 2n ** 64n - 1n
const TWO_63 = 2 ** 63

const outOfRange = (type: string, value: unknown): Error =>
  functionError('numeric_overflow', `${type}(): ${String(value)} is out of range`)

const noNumber = (type: string, text: string): Error =>
  functionError('conversion_error', `${type}(): ${JSON.stringify(text.slice(0, 40))} is no ${type}`)

const toInt = (value: bigint): bigint => {
  if (value >= 2n ** 63n || value < -(2n ** 63n)) throw outOfRange('int', value)
  return value
}

const intOfDouble = (value: number): bigint => {
  // The bounds themselves are left out: a double near them stands for integers beyond them.
  if (!(value > -TWO_63 && value < TWO_63)) throw outOfRange('int', value)
  return BigInt(Math.trunc(value))
}

const intOfText = (text: string): bigint => {
  if (!/^[+-]?\d{1,20}$/.test(text)) throw noNumber('int', text)
  return toInt(BigInt(text.replace(/^\+/, '')))
}

const uintOf = (value: bigint): UnsignedInt => {
  if (value < 0n || value > MAX_UINT) throw outOfRange('uint', value)
  return new UnsignedInt(value)
}

const uintOfDouble = (value: number): UnsignedInt => {
  if (!(value >= 0 && value < 2 * TWO_63)) throw outOfRange('uint', value)
  return new UnsignedInt(BigInt(Math.trunc(value)))
}

const uintOfText = (text: string): UnsignedInt => {
  if (!/^\d{1,20}$/.test(text)) throw noNumber('uint', text)
  return uintOf(BigInt(text))
}

const doubleOfText = (text: string): number => {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^nan$/i.test(text)) return Number.NaN
  throw noNumber('double', text)
}

const doubleText = (value: number): string => {
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const textOfBytes = (bytes: Uint8Array): string => {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw functionError('conversion_error', 'string(): the bytes are no UTF-8')
  }
}

export const conversionFunctions: readonly CelFunction[] = [
  { signature: 'int(int): int', call: same },
  { signature: 'int(uint): int', call: (value: UnsignedInt) => toInt(value.value) },
  { signature: 'int(double): int', description: 'Without the fraction.', call: intOfDouble },
  { signature: 'int(string): int', call: intOfText },
  { signature: 'int(timestamp): int', description: 'Seconds since 1970.', call: secondsOf },
  { signature: 'uint(uint): uint', call: same },
  { signature: 'uint(int): uint', call: uintOf },
  { signature: 'uint(double): uint', call: uintOfDouble },
  { signature: 'uint(string): uint', call: uintOfText },
  { signature: 'double(double): double', call: same },
  { signature: 'double(int): double', call: Number },
  { signature: 'double(uint): double', call: (value: UnsignedInt) => Number(value.value) },
  { signature: 'double(string): double', call: doubleOfText },
  { signature: 'string(string): string', call: same },
  { signature: 'string(bool): string', call: String },
  { signature: 'string(int): string', call: String },
  { signature: 'string(uint): string', call: (value: UnsignedInt) => value.value.toString() },
  { signature: 'string(double): string', call: doubleText },
  { signature: 'string(bytes): string', call: textOfBytes },
  { signature: 'string(timestamp): string', description: 'RFC 3339 in UTC.', call: timestampText },
  { signature: 'string(duration): string', description: 'Seconds, such as 90s.', call: durationText },
  { signature: 'bytes(bytes): bytes', call: same },
  {
    signature: 'bytes(string): bytes',
    description: 'Its UTF-8.',
    call: (text: string) => new Uint8Array(Buffer.from(text)),
  },
  { signature: 'timestamp(string): timestamp', description: 'RFC 3339.', call: parseTimestamp },
  { signature: 'timestamp(int): timestamp', description: 'Seconds since 1970.', call: timestampOf },
  { signature: 'timestamp(timestamp): timestamp', call: same },
  { signature: 'duration(string): duration', description: 'Such as 1h30m or 0.5s.', call: parseDuration },
  { signature: 'duration(duration): duration', call: (value: Duration) => value },
]
