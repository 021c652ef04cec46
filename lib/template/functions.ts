/** The functions of templates: Go's own, and those that the Go peer of adapter tasks adds. */
import { Refusal } from './errors.ts'
import { plain, print, printf, println, quote } from './format.ts'
import { formatTime } from './time.ts'
import { entry, fromData, isMap, isTrue, kindOf, type Value } from './value.ts'

/** What a parameter takes: a text, a time, or any value. */
type Parameter = 'string' | 'time' | 'any'

export interface TemplateFunction {
  readonly name: string
  /** One sentence for people who write templates. */
  readonly description: string
  /** How it is called, for people. */
  readonly usage: string
  readonly parameters: readonly Parameter[]
  /** What all further arguments are; none may follow when undefined. */
  readonly rest?: Parameter
  /** Throws Refusal. */
  readonly call: (...args: never[]) => Value
}

/** Longest text that a function may make. */
const LONGEST = 1_048_576

const bounded = (length: number): void => {
  if (length > LONGEST) throw new Refusal(`the text would be longer than ${LONGEST} characters`)
}

type Comparable = 'bool' | 'int' | 'float' | 'string'
const COMPARABLE = new Set<string>(['bool', 'int', 'float', 'string'] satisfies Comparable[])

const equalTo = (a: Value, b: Value): boolean => {
  const left = kindOf(a)
  const right = kindOf(b)
  if (left === 'nil' || right === 'nil') return left === right
  if (left !== right) throw new Refusal(`a ${left} can't be compared with a ${right}`)
  if (left === 'time') return (a as Date).getTime() === (b as Date).getTime()
  if (!COMPARABLE.has(left)) throw new Refusal(`a ${left} can't be compared`)
  return a === b
}

const eq = (a: Value, ...others: readonly Value[]): boolean => {
  if (others.length === 0) throw new Refusal('eq compares two values or more')
  return others.some((b) => equalTo(a, b))
}

/** -1, 0 or 1. */
const order = (a: Value, b: Value): number => {
  const left = kindOf(a)
  const right = kindOf(b)
  if (left !== right) throw new Refusal(`a ${left} can't be compared with a ${right}`)
  if (left === 'int' || left === 'float') return (a as number) < (b as number) ? -1 : a === b ? 0 : 1
  if (left === 'string') return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
  throw new Refusal(`a ${left} has no order`)
}

const isOrdered = (a: Value, b: Value): boolean => !(Number.isNaN(a) || Number.isNaN(b))

const len = (value: Value): bigint => {
  const kind = kindOf(value)
  if (kind === 'string') return BigInt(Buffer.byteLength(value as string))
  if (kind === 'list') return BigInt((value as readonly unknown[]).length)
  if (kind === 'map') return BigInt(value instanceof Map ? value.size : Object.keys(value as object).length)
  throw new Refusal(`a ${kind} has no length`)
}

const indexIn = (length: number, index: Value, mayBeEnd: boolean): number => {
  if (typeof index !== 'bigint') throw new Refusal(`an index is an int, not a ${kindOf(index)}`)
  const most = mayBeEnd ? length : length - 1
  if (index < 0n || index > BigInt(most)) throw new Refusal(`the index ${index} is outside of ${length} elements`)
  return Number(index)
}

const index = (value: Value, ...path: readonly Value[]): Value =>
  path.reduce((at: Value, key) => {
    if (Array.isArray(at)) return fromData(at[indexIn(at.length, key, false)])
    if (typeof at === 'string') {
      const bytes = Buffer.from(at)
      return BigInt(bytes[indexIn(bytes.length, key, false)] ?? 0)
    }
    if (!isMap(at)) throw new Refusal(`a ${kindOf(at)} can't be indexed`)
    if (typeof key !== 'string') throw new Refusal(`a map is indexed by a text, not by a ${kindOf(key)}`)
    return entry(at, key) ?? null
  }, value)

const slice = (value: Value, ...bounds: readonly Value[]): Value => {
  const isText = typeof value === 'string'
  if (!isText && !Array.isArray(value)) throw new Refusal(`a ${kindOf(value)} can't be sliced`)
  if (bounds.length > (isText ? 2 : 3)) throw new Refusal('slice takes a start and an end')
  const content: Buffer | readonly unknown[] = isText ? Buffer.from(value) : value
  const numbers = bounds.map((bound) => indexIn(content.length, bound, true))
  const [from = 0, to = content.length, most = content.length] = numbers
  if (from > to || to > most) throw new Refusal(`a slice can't start at ${from} and end at ${to}`)
  if (!isText) return content.slice(from, to)
  const cut = (content as Buffer).subarray(from, to)
  const text = cut.toString('utf8')
  if (Buffer.compare(Buffer.from(text), cut) !== 0)
    throw new Refusal('the slice would cut a character in two: slice counts bytes')
  return text
}

/** One text as it is, anything else as print writes it. */
const textOf = (values: readonly Value[]): string => {
  const [first] = values
  return values.length === 1 && typeof first === 'string' ? first : print(values)
}

const HTML: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\0': '\ufffd',
}
const html = (...values: readonly Value[]): string =>
  textOf(values).replaceAll(/["'&<>\0]/g, (character) => HTML[character] ?? character)

const JS: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
}
const js = (...values: readonly Value[]): string =>
  textOf(values).replaceAll(/[\\'"<>&=]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase()
    return JS[character] ?? `\\u${code.padStart(4, '0')}`
  })

const urlquery = (...values: readonly Value[]): string =>
  encodeURIComponent(textOf(values).toWellFormed())
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')

const words = new Intl.Segmenter('en', { granularity: 'word' })

/** Each word with a large first letter and small others. */
const title = (text: string): string =>
  Array.from(words.segment(text), ({ segment, isWordLike }) => {
    if (isWordLike !== true) return segment
    const first = /\p{Cased}/u.exec(segment)
    if (first === null) return segment
    const { index: at } = first
    const [letter = ''] = segment.slice(at)
    return segment.slice(0, at) + letter.toUpperCase() + segment.slice(at + letter.length).toLowerCase()
  }).join('')

/** Go's strings.TrimSpace: Unicode's White_Space, which is not JavaScript's. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

const trim = (text: string): string => {
  let from = 0
  let to = text.length
  while (from < to && SPACE.test(text.charAt(from))) from += 1
  while (to > from && SPACE.test(text.charAt(to - 1))) to -= 1
  return text.slice(from, to)
}

const replace = (text: string, old: string, by: string): string => {
  const places = old === '' ? text.length + 1 : text.split(old).length - 1
  bounded(text.length + places * by.length)
  if (old !== '') return text.replaceAll(old, () => by)
  return by + Array.from(text, (character) => character + by).join('')
}

const isMissing = (value: Value): boolean => value === null || value === ''

const TWO_63 = 2 ** 63

/** An int of a number, or of a text that is one. A text that is none is an error here; the peer makes 0 of it. */
const int = (value: Value): bigint => {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Math.abs(value) < TWO_63) return BigInt(Math.trunc(value))
  if (typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ''))
    if (number < 2n ** 63n && number >= -(2n ** 63n)) return number
  }
  throw new Refusal(`${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : plain(value)} is no int`)
}

const float = (value: Value): number => {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number') return value
  if (typeof value === 'string' && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return Number(value)
  throw new Refusal(`${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : plain(value)} is no number`)
}

/** `and` and `or` are listed here for their names; the renderer stops at the first argument that decides. */
const decides = (): Value => {
  throw new Error('and and or are evaluated by the renderer')
}

/** Functions of a renderer. @param now The time of its `now`; without it there is none, and renderings depend on their data alone. */
export const templateFunctions = (now: (() => Date) | undefined): readonly TemplateFunction[] => [
  {
    name: 'and',
    usage: 'and A B',
    description: 'The first value that is empty, or the last.',
    parameters: ['any'],
    rest: 'any',
    call: decides,
  },
  {
    name: 'or',
    usage: 'or A B',
    description: 'The first value that is not empty, or the last.',
    parameters: ['any'],
    rest: 'any',
    call: decides,
  },
  {
    name: 'not',
    usage: 'not A',
    description: 'Whether a value is empty.',
    parameters: ['any'],
    call: (value: Value) => !isTrue(value),
  },
  {
    name: 'eq',
    usage: 'eq A B',
    description: 'Whether A equals B, or one of several.',
    parameters: ['any'],
    rest: 'any',
    call: eq,
  },
  {
    name: 'ne',
    usage: 'ne A B',
    description: 'Whether A does not equal B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !eq(a, b),
  },
  {
    name: 'lt',
    usage: 'lt A B',
    description: 'Whether A is less than B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => isOrdered(a, b) && order(a, b) < 0,
  },
  {
    name: 'le',
    usage: 'le A B',
    description: 'Whether A is less than B or equal.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => isOrdered(a, b) && order(a, b) <= 0,
  },
  {
    name: 'gt',
    usage: 'gt A B',
    description: 'Whether A is greater than B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !isOrdered(a, b) || order(a, b) > 0,
  },
  {
    name: 'ge',
    usage: 'ge A B',
    description: 'Whether A is greater than B or equal.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !isOrdered(a, b) || order(a, b) >= 0,
  },
  {
    name: 'len',
    usage: 'len A',
    description: 'How many elements a list or map has, or bytes a text.',
    parameters: ['any'],
    call: len,
  },
  {
    name: 'index',
    usage: 'index A "key" 0',
    description: 'What is in a map or list at a key or position; a key that is not there gives nothing.',
    parameters: ['any'],
    rest: 'any',
    call: index,
  },
  {
    name: 'slice',
    usage: 'slice A 1 3',
    description: 'A part of a list, or of a text by its bytes.',
    parameters: ['any'],
    rest: 'any',
    call: slice,
  },
  {
    name: 'print',
    usage: 'print A B',
    description: 'Values as text, with spaces between those that are no texts.',
    parameters: [],
    rest: 'any',
    call: (...values: Value[]) => print(values),
  },
  {
    name: 'printf',
    usage: 'printf "%s-%d" A B',
    description: 'Values as text, by a format of Go.',
    parameters: ['string'],
    rest: 'any',
    call: (format: string, ...values: Value[]) => printf(format, values),
  },
  {
    name: 'println',
    usage: 'println A',
    description: 'Values with spaces between them and a line end.',
    parameters: [],
    rest: 'any',
    call: (...values: Value[]) => println(values),
  },
  { name: 'html', usage: 'html A', description: 'Escaped for HTML.', parameters: [], rest: 'any', call: html },
  {
    name: 'js',
    usage: 'js A',
    description: 'Escaped for a text of JavaScript.',
    parameters: [],
    rest: 'any',
    call: js,
  },
  {
    name: 'urlquery',
    usage: 'urlquery A',
    description: 'Escaped for the query of a URL.',
    parameters: [],
    rest: 'any',
    call: urlquery,
  },
  ...(now === undefined
    ? []
    : [{ name: 'now', usage: 'now', description: 'The time, in UTC.', parameters: [], call: now }]),
  {
    name: 'date',
    usage: 'now | date "2006-01-02"',
    description: 'A time by a layout of Go.',
    parameters: ['string', 'time'],
    call: (layout: string, time: Date) => formatTime(time, layout),
  },
  {
    name: 'dateFormat',
    usage: 'now | dateFormat "15:04"',
    description: 'The same.',
    parameters: ['string', 'time'],
    call: (layout: string, time: Date) => formatTime(time, layout),
  },
  {
    name: 'lower',
    usage: 'lower A',
    description: 'In small letters.',
    parameters: ['string'],
    call: (text: string) => text.toLowerCase(),
  },
  {
    name: 'upper',
    usage: 'upper A',
    description: 'In capital letters.',
    parameters: ['string'],
    call: (text: string) => text.toUpperCase(),
  },
  {
    name: 'title',
    usage: 'title A',
    description: 'Each word with a capital first letter.',
    parameters: ['string'],
    call: title,
  },
  {
    name: 'trim',
    usage: 'trim A',
    description: 'Without white space at both ends.',
    parameters: ['string'],
    call: trim,
  },
  {
    name: 'trimPrefix',
    usage: 'trimPrefix A "pre-"',
    description: 'Without a beginning, if it is there.',
    parameters: ['string', 'string'],
    call: (text: string, prefix: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
  },
  {
    name: 'trimSuffix',
    usage: 'trimSuffix A "-dev"',
    description: 'Without an end, if it is there.',
    parameters: ['string', 'string'],
    call: (text: string, suffix: string) =>
      suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  },
  {
    name: 'replace',
    usage: 'replace A "old" "new"',
    description: 'Every occurrence of a text replaced.',
    parameters: ['string', 'string', 'string'],
    call: replace,
  },
  {
    name: 'contains',
    usage: 'contains A "part"',
    description: 'Whether a text has another in it.',
    parameters: ['string', 'string'],
    call: (text: string, part: string) => text.includes(part),
  },
  {
    name: 'hasPrefix',
    usage: 'hasPrefix A "pre-"',
    description: 'Whether a text begins with another.',
    parameters: ['string', 'string'],
    call: (text: string, prefix: string) => text.startsWith(prefix),
  },
  {
    name: 'hasSuffix',
    usage: 'hasSuffix A "-dev"',
    description: 'Whether a text ends with another.',
    parameters: ['string', 'string'],
    call: (text: string, suffix: string) => text.endsWith(suffix),
  },
  {
    name: 'quote',
    usage: 'quote A',
    description: 'In double quotes, escaped as Go does; also right in YAML and JSON for plain texts.',
    parameters: ['string'],
    call: (text: string) => quote(text),
  },
  {
    name: 'default',
    usage: 'default "x" A',
    description: 'A, or another value when A is nothing or an empty text.',
    parameters: ['any', 'any'],
    call: (other: Value, value: Value) => (isMissing(value) ? other : value),
  },
  {
    name: 'int',
    usage: 'int A',
    description: 'A whole number, of a number or of a text that is one.',
    parameters: ['any'],
    call: int,
  },
  { name: 'int64', usage: 'int64 A', description: 'The same.', parameters: ['any'], call: int },
  { name: 'float', usage: 'float A', description: 'A number with a fraction.', parameters: ['any'], call: float },
  { name: 'float64', usage: 'float64 A', description: 'The same.', parameters: ['any'], call: float },
  { name: 'string', usage: 'string A', description: 'A value as text.', parameters: ['any'], call: plain },
]
