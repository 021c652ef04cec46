import { parseTimestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { type OperandType, typeOf } from './operand.ts'
import { type Comparison, type Operand, type SearchTest, STATUSES, type Test, type Value } from './search-tree.ts'
import type { Token } from './tokenize.ts'

/** A test as it is written: the words, not yet what they mean to their operand. */
export type RawTest =
  | { readonly operator: Comparison; readonly value: Token }
  | { readonly operator: 'in'; readonly values: readonly Token[] }
  | { readonly operator: 'between'; readonly low: Token; readonly high: Token }
  | { readonly operator: 'like' | 'ilike'; readonly pattern: Token }

/** The name of an operand as the caller wrote it, for what is said about it. */
interface NamedOperand {
  readonly name: string
  readonly type: OperandType
}

const ORDERED = ['=', '!=', '<', '<=', '>', '>=', 'in', 'between']
const OPERATORS: Readonly<Record<OperandType, readonly string[]>> = {
  text: [...ORDERED, 'like', 'ilike'],
  open: [...ORDERED, 'like', 'ilike'],
  integer: ORDERED,
  time: ORDERED,
  status: ['=', '!=', 'in'],
}

/** Ties a test to what it tests, when that takes it. @throws Problem badRequest that says what to write */
export const checkTest = (name: string, operand: Operand, written: RawTest): SearchTest => {
  const named = { name, type: typeOf(operand) }
  if (!OPERATORS[named.type].includes(written.operator))
    throw new Problem(
      'badRequest',
      `search: ${name} can't be tested by ${written.operator}; write one of ${OPERATORS[named.type].join(', ')} or is null`,
    )
  return { type: 'test', operand, test: parseTest(named, written) }
}

const parseTest = (named: NamedOperand, written: RawTest): Test => {
  switch (written.operator) {
    case 'in':
      return { operator: 'in', values: requireOneType(named, written.values.map(readValue(named))) }
    case 'between': {
      const [low, high] = requireOneType(named, [written.low, written.high].map(readValue(named)))
      return { operator: 'between', low: low as Value, high: high as Value }
    }
    case 'like':
    case 'ilike':
      return { operator: written.operator, pattern: parsePattern(named, written.pattern) }
    default:
      return { operator: written.operator, value: readValue(named)(written.value) }
  }
}

/** The values of one list, when they can be compared with each other. */
const requireOneType = ({ name }: NamedOperand, values: readonly Value[]): readonly Value[] => {
  if (new Set(values.map((value) => typeof value)).size > 1)
    throw new Problem(
      'badRequest',
      `search: ${name} is tested by text and numbers at once; write the same of all values`,
    )
  return values
}

const readValue =
  (named: NamedOperand) =>
  (token: Token): Value => {
    switch (named.type) {
      case 'text':
        return parseText(named, token)
      case 'integer':
        return parseInteger(named, token)
      case 'time':
        return parseTime(named, token)
      case 'status':
        return parseStatus(named, token)
      case 'open':
        return token.type === 'number'
          ? parseNumber(named, token)
          : token.type === 'name'
            ? token.text.toLowerCase()
            : parseText(named, token)
    }
  }

const unsupportedValue = ({ name }: NamedOperand, what: string, { text }: Token): Problem =>
  new Problem('badRequest', `search: ${name} takes ${what}, not ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`)

const parseText = (named: NamedOperand, token: Token): string => {
  if (token.type !== 'string') throw unsupportedValue(named, `text in quotes, such as '${token.text}'`, token)
  return token.text
}

/** Longest pattern, in characters: what a pattern costs grows with its length times the text's (API-99). */
const MAX_PATTERN_CHARS = 256

const parsePattern = (named: NamedOperand, token: Token): string => {
  const pattern = parseText(named, token)
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new Problem(
      'badRequest',
      `search: the pattern for ${named.name} has ${pattern.length} characters; write at most ${MAX_PATTERN_CHARS}, with % for the rest`,
    )
  // A backslash takes the next character literally: at the end there is none.
  if (/(?<!\\)(?:\\\\)*\\$/.test(pattern))
    throw new Problem(
      'badRequest',
      `search: the pattern for ${named.name} ends with a single backslash; write \\\\\\\\ for one`,
    )
  return pattern
}

const MAX_INTEGER = 2 ** 31 - 1

const parseInteger = (named: NamedOperand, token: Token): number => {
  const value = token.type === 'number' ? parseNumber(named, token) : Number.NaN
  if (!Number.isInteger(value) || Math.abs(value) > MAX_INTEGER)
    throw unsupportedValue(named, `a whole number up to ${MAX_INTEGER} without quotes, such as 3`, token)
  return value
}

const DATE = /^\d{4}-\d{2}-\d{2}$/

const parseTime = (named: NamedOperand, token: Token): string => {
  const time =
    token.type === 'string' || token.type === 'moment'
      ? parseTimestamp(DATE.test(token.text) ? `${token.text}T00:00:00Z` : token.text)
      : undefined
  if (time === undefined)
    throw unsupportedValue(named, `an RFC 3339 time such as '2026-01-31T12:00:00Z' or a date`, token)
  return time
}

const parseStatus = (named: NamedOperand, token: Token): string => {
  if (token.type !== 'string' || !(STATUSES as readonly string[]).includes(token.text))
    throw unsupportedValue(named, `'True', 'False' or 'Unknown' in quotes`, token)
  return token.text
}

const UNITS = ['', 'K', 'M', 'G', 'T', 'P']
const NUMBER = /^(.*?)([KMGTP]?)(i?)$/

/** Reads a number with its suffix: K is a thousand, Ki 1,024. */
const parseNumber = (named: NamedOperand, token: Token): number => {
  const [, digits = '', unit = '', binary = ''] = NUMBER.exec(token.text) ?? []
  const value = Number(digits) * (binary === '' ? 1_000 : 1_024) ** UNITS.indexOf(unit)
  if (!Number.isFinite(value)) throw unsupportedValue(named, 'a number that fits 64 bits', token)
  // No document holds -0: JSON writes it as 0.
  return value === 0 ? 0 : value
}
