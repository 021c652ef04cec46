/** Go's `fmt.Sprintf`. */
import { toExponentialEven, toFixedEven } from '../numbers/rounding.ts'
import { Refusal } from './errors.ts'
import { exponent, general, special } from './float-text.ts'
import { MAX_TEXT_CHARS, plain } from './print.ts'
import { quote } from './quote.ts'
import { entry, fromData, keysOf, kindOf, TYPE_NAMES, type Value } from './value.ts'

/** Characters that a width or precision may ask for. */
const MAX_WIDTH_CHARS = 1_000

interface Flags {
  readonly minus: boolean
  readonly plus: boolean
  readonly sharp: boolean
  readonly space: boolean
  readonly zero: boolean
  readonly width: number | undefined
  readonly precision: number | undefined
}

const DIRECTIVE = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?(.)?/gsu

/** fmt.Sprintf, but what Go marks as wrong in its result is an error. */
export const printf = (format: string, values: readonly Value[]): string => {
  let next = 0
  let length = 0
  const result = format.replaceAll(
    DIRECTIVE,
    (_, marks: string, width: string | undefined, precision: string | undefined, verb: string | undefined) => {
      const number = (text: string): number => {
        if (text !== '*') return limited(Number(text))
        const value = values[next]
        next += 1
        if (typeof value !== 'bigint') throw new Refusal('printf: a * in the format takes an int')
        return limited(Number(value))
      }
      const wide = width === undefined ? undefined : number(width)
      const precise = precision === undefined ? undefined : precision === '' ? 0 : number(precision)
      if (verb === undefined)
        throw new Refusal('printf: a % at the end of the format has no verb: write %% for the sign')
      if (verb === '%') return '%'
      if (next >= values.length) throw new Refusal(`printf: there is no argument for %${verb}`)
      const value = values[next] ?? null
      next += 1
      const flags: Flags = {
        minus: marks.includes('-') || (wide ?? 0) < 0,
        // %+v asks for the names of fields, which no value here has.
        plus: marks.includes('+') && verb !== 'v',
        sharp: marks.includes('#'),
        space: marks.includes(' '),
        zero: marks.includes('0') && !marks.includes('-'),
        width: wide === undefined ? undefined : Math.abs(wide),
        precision: precise,
      }
      const text = one(verb, value, flags)
      length += text.length
      if (length > MAX_TEXT_CHARS) throw new Refusal(`the text would be longer than ${MAX_TEXT_CHARS} characters`)
      return text
    },
  )
  if (next < values.length) throw new Refusal(`printf: the format takes ${next} arguments, not ${values.length}`)
  return result
}

const limited = (value: number): number => {
  if (Math.abs(value) > MAX_WIDTH_CHARS) throw new Refusal(`printf: a width of ${value} is too large`)
  return value
}

/** What verbs are for, for messages. */
const MEANT: Readonly<Record<string, string>> = {
  s: 'a text',
  d: 'an int',
  q: 'a text or an int',
  t: 'a bool',
  f: 'a number with a fraction',
  g: 'a number with a fraction',
  e: 'a number with a fraction',
  x: 'an int or a text',
  o: 'an int',
  b: 'an int',
  c: 'an int',
  U: 'an int',
}

/** Go writes `%!d(string=a)` into the text, where it is easily missed. */
const bad = (verb: string, value: Value): never => {
  const meant = MEANT[verb] ?? MEANT[verb.toLowerCase()]
  const kind = value === null ? 'nothing' : `a ${kindOf(value)}`
  throw new Refusal(
    meant === undefined
      ? `printf: there is no verb %${verb}`
      : `printf: %${verb} takes ${meant}, not ${kind}: %v takes anything`,
  )
}

/** A value inside a list or map: nothing reads the same by every verb. */
const inner = (verb: string, value: Value, flags: Flags): string => (value === null ? '<nil>' : one(verb, value, flags))

/** One value by one verb. */
const one = (verb: string, value: Value, flags: Flags): string => {
  if (verb === 'T') return pad(value === null ? '<nil>' : TYPE_NAMES[kindOf(value)], { ...flags, zero: false })
  if (flags.sharp && verb === 'v') throw new Refusal('printf: %#v is not supported, write %v')
  if (value === null) return verb === 'v' ? pad('<nil>', { ...flags, zero: false }) : bad(verb, value)
  switch (kindOf(value)) {
    case 'bool':
      return verb === 't' || verb === 'v' ? pad(value === true ? 'true' : 'false', flags) : bad(verb, value)
    case 'string':
      return text(verb, value as string, flags)
    case 'int':
      return integer(verb, value as bigint, flags)
    case 'float':
      return float(verb, value as number, flags)
    case 'list':
      return `[${(value as readonly unknown[]).map((each) => inner(verb, fromData(each), flags)).join(' ')}]`
    case 'map':
      return `map[${keysOf(value as object)
        .map((key) => `${one(verb, key, flags)}:${inner(verb, entry(value as object, key) ?? null, flags)}`)
        .join(' ')}]`
    default:
      if (verb === 'v' || verb === 's') return pad(plain(value), { ...flags, zero: false })
      return verb === 'q' ? quote(plain(value)) : bad(verb, value)
  }
}

const pad = (content: string, { width, minus, zero }: Flags): string => {
  const missing = (width ?? 0) - Array.from(content).length
  if (missing <= 0) return content
  if (minus) return content + ' '.repeat(missing)
  return (zero ? '0' : ' ').repeat(missing) + content
}

const text = (verb: string, value: string, flags: Flags): string => {
  const cut = flags.precision === undefined ? value : Array.from(value).slice(0, flags.precision).join('')
  switch (verb) {
    case 's':
    case 'v':
      return pad(cut, flags)
    case 'q':
      return pad(flags.sharp && !/`|(?!\t)\p{Cc}/u.test(cut) ? `\`${cut}\`` : quote(cut), flags)
    case 'x':
    case 'X': {
      const bytes = Buffer.from(value).subarray(0, flags.precision)
      const digits = bytes.toString('hex')
      const spaced = flags.space ? digits.replaceAll(/(..)(?=.)/g, flags.sharp ? '$1 0x' : '$1 ') : digits
      const prefixed = flags.sharp && digits !== '' ? `0x${spaced}` : spaced
      return pad(verb === 'X' ? prefixed.toUpperCase() : prefixed, flags)
    }
    default:
      return bad(verb, value)
  }
}

const RADIX: Readonly<Record<string, readonly [radix: number, prefix: string]>> = {
  d: [10, ''],
  v: [10, ''],
  b: [2, '0b'],
  o: [8, '0'],
  O: [8, '0o'],
  x: [16, '0x'],
  X: [16, '0X'],
}

/** A sign, and zeros between it and the digits where `0` asks for them. */
const signed = (negative: boolean, digits: string, flags: Flags, canPad: boolean): string => {
  const sign = negative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  const missing = (flags.width ?? 0) - sign.length - digits.length
  if (flags.zero && canPad && missing > 0) return sign + '0'.repeat(missing) + digits
  return pad(sign + digits, { ...flags, zero: false })
}

const character = (value: bigint): string => {
  const valid = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn)
  return valid ? String.fromCodePoint(Number(value)) : '\ufffd'
}

const integer = (verb: string, value: bigint, flags: Flags): string => {
  if (verb === 'c') return pad(character(value), { ...flags, zero: false })
  if (verb === 'q') return pad(quote(character(value), "'"), { ...flags, zero: false })
  if (verb === 'U')
    return pad(`U+${BigInt.asUintN(64, value).toString(16).toUpperCase().padStart(4, '0')}`, { ...flags, zero: false })
  const [radix, prefix] = RADIX[verb] ?? []
  if (radix === undefined || prefix === undefined) return bad(verb, value)
  const absolute = value < 0n ? -value : value
  if (flags.precision === 0 && value === 0n) return pad('', { ...flags, zero: false })
  const digits = absolute.toString(radix).padStart(flags.precision ?? 0, '0')
  const needsPrefix = verb === 'O' || (flags.sharp && !(verb === 'o' && digits.startsWith('0')))
  const body = (needsPrefix ? prefix : '') + digits
  return signed(value < 0n, verb === 'X' ? body.toUpperCase() : body, flags, flags.precision === undefined)
}

const DEFAULT_PRECISION = 6

const float = (verb: string, value: number, flags: Flags): string => {
  const lower = verb.toLowerCase()
  if (lower === 'x' || verb === 'b')
    throw new Refusal(`printf: %${verb} is not supported for numbers with a fraction, write %v`)
  if (!['v', 'g', 'e', 'f'].includes(lower) || verb === 'V') return bad(verb, value)
  const odd = special(value)
  if (odd !== undefined) {
    const body = odd.replace(/^[+-]/, '')
    const plus = flags.plus || odd === '+Inf' ? '+' : flags.space ? ' ' : ''
    return pad((odd.startsWith('-') ? '-' : Number.isNaN(value) && !flags.plus ? '' : plus) + body, {
      ...flags,
      zero: false,
    })
  }
  const absolute = Math.abs(value)
  const precision = flags.precision ?? DEFAULT_PRECISION
  if (precision > 99) throw new Refusal(`printf: a precision of ${precision} is too large`)
  const digits =
    lower === 'f'
      ? toFixedEven(absolute, precision)
      : lower === 'e'
        ? exponent(toExponentialEven(absolute, precision))
        : general(absolute, flags.precision)
  const isNegative = value < 0 || Object.is(value, -0)
  return signed(isNegative, verb === 'E' || verb === 'G' ? digits.toUpperCase() : digits, flags, true)
}
