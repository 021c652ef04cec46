/** `string.format(list)`: cel-go's `ext.Strings`, with its clauses and its texts of values. */
import { toExponentialEven, toFixedEven } from '../../numbers/rounding.ts'
import { durationText, timestampText } from '../json.ts'
import { Duration, UnsignedInt } from '../values.ts'
import { functionError } from './function.ts'

/** A clause: `%s`, `%.3f`; the letter is missing in a lone `%` at the end. */
const CLAUSE = /%(?:\.(\d+))?(.)?/gsu
const DEFAULT_PRECISION = 6
const MOST_DIGITS = 99
/** A format may make a short text long: more than this is no text any more. */
const MAX_CHARS = 1_048_576

export const format = (text: string, args: readonly unknown[]): string => {
  let next = 0
  let size = text.length
  return text.replaceAll(CLAUSE, (_clause, digits: string | undefined, letter: string | undefined) => {
    if (letter === '%' && digits === undefined) return '%'
    if (letter === undefined) return unknownClause('')
    if (next >= args.length) throw functionError('format_error', `format: there is no argument ${next + 1}`)
    const filled = fill(letter, digits, args[next])
    next += 1
    size += filled.length
    if (size > MAX_CHARS) throw functionError('format_error', `format: the text is longer than ${MAX_CHARS} characters`)
    return filled
  })
}

const unknownClause = (letter: string): never => {
  throw functionError('format_error', `format: there is no clause %${letter}: there are %s %d %f %e %b %o %x %X`)
}

/** Values in a list or map, those inside them included: each becomes text. */
export const valuesIn = (value: unknown): number => {
  if (value instanceof Map) return value.values().reduce((sum: number, inner) => sum + valuesIn(inner), 1)
  return Array.isArray(value) ? value.reduce<number>((sum, inner) => sum + valuesIn(inner), 1) : 1
}

const fill = (letter: string, digits: string | undefined, value: unknown): string => {
  switch (letter) {
    case 's':
      return valueText(value)
    case 'd':
      if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(0) : decimal(value)
      return integer(value, 'decimal clause %d takes integers').toString()
    case 'f':
      return special(value, 'f') ?? fixed(double(value, 'f'), precision(digits))
    case 'e':
      return special(value, 'e') ?? scientific(double(value, 'e'), precision(digits))
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0'
      return integer(value, 'binary clause %b takes integers and bools').toString(2)
    case 'o':
      return integer(value, 'octal clause %o takes integers').toString(8)
    case 'x':
      return hexadecimal(value)
    case 'X':
      return hexadecimal(value).toUpperCase()
    default:
      return unknownClause(letter)
  }
}

const refused = (what: string, value: unknown): Error =>
  functionError('format_error', `format: ${what}, not ${value === null ? 'null' : typeof value}`)

const integer = (value: unknown, what: string): bigint => {
  if (typeof value === 'bigint') return value
  if (value instanceof UnsignedInt) return value.value
  throw refused(what, value)
}

const double = (value: unknown, letter: string): number => {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof UnsignedInt) return Number(value.value)
  throw refused(`clause %${letter} takes numbers`, value)
}

const precision = (digits: string | undefined): number => {
  const value = digits === undefined ? DEFAULT_PRECISION : Number(digits)
  if (value > MOST_DIGITS) throw functionError('format_error', `format: at most ${MOST_DIGITS} digits, not ${value}`)
  return value
}

/** NaN and the infinities, which also come as text. */
const special = (value: unknown, letter: string): string | undefined => {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return value
  double(value, letter)
  return undefined
}

const fixed = (value: number, digits: number): string =>
  `${value < 0 ? '-' : ''}${toFixedEven(Math.abs(value), digits)}`

const scientific = (value: number, digits: number): string =>
  `${value < 0 ? '-' : ''}${toExponentialEven(Math.abs(value), digits).replace(/e([+-])(\d)$/, 'e$10$2')}`

const hexadecimal = (value: unknown): string => {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return integer(value, 'hexadecimal clauses take integers, bytes and texts').toString(16)
}

const decimal = (value: number): string => {
  if (!Number.isFinite(value)) return String(value)
  throw refused('decimal clause %d takes integers', value)
}

const valueText = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
      return value
    case 'bigint':
    case 'boolean':
    case 'number':
      return String(value)
  }
  if (value === null) return 'null'
  if (value instanceof UnsignedInt) return value.value.toString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  if (value instanceof Date) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  if (value instanceof Map) {
    const entries = [...value].map(([key, inner]) => [valueText(key), valueText(inner)] as const)
    entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    return `{${entries.map(([key, inner]) => `${key}: ${inner}`).join(', ')}}`
  }
  if (typeof value === 'object' && 'name' in value) return String(value.name)
  throw refused('clause %s takes values of JSON, bytes, types, durations and timestamps', value)
}
