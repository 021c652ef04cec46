/** Text, by cel-go's `ext.Strings`: positions count characters (code points), not UTF-16 units. */

import { GO_ESCAPES } from '../../text/go-escapes.ts'
import { format, valuesIn } from './format.ts'
import { type CelFunction, functionError } from './function.ts'

/** Characters that are handled in about the time of one step. */
const CHARACTERS_A_STEP = 4

const length = (text: string): number => text.length / CHARACTERS_A_STEP

const characters = (text: string): string[] => Array.from(text)

const outOfRange = (index: bigint): Error => functionError('index_out_of_range', `index out of range: ${index}`)

/** @throws an error of the expression unless 0 ≤ index ≤ size */
const within = (index: bigint, size: number): number => {
  if (index < 0n || index > BigInt(size)) throw outOfRange(index)
  return Number(index)
}

const charAt = (text: string, index: bigint): string => {
  const all = characters(text)
  return all[within(index, all.length)] ?? ''
}

/** UTF-16 position → position in characters, -1 stays. */
const position = (text: string, at: number): bigint => BigInt(at < 0 ? at : characters(text.slice(0, at)).length)

const indexOf = (text: string, searched: string, from = 0n): bigint => {
  const all = characters(text)
  const start = within(from, all.length)
  return position(text, text.indexOf(searched, all.slice(0, start).join('').length))
}

const lastIndexOf = (text: string, searched: string, from?: bigint): bigint => {
  if (from === undefined) return position(text, text.lastIndexOf(searched))
  const all = characters(text)
  const start = within(from, all.length)
  return position(text, text.lastIndexOf(searched, all.slice(0, start).join('').length))
}

const substring = (text: string, from: bigint, to?: bigint): string => {
  const all = characters(text)
  const start = within(from, all.length)
  const end = to === undefined ? all.length : within(to, all.length)
  if (end < start) {
    throw functionError('index_out_of_range', `invalid substring range: it starts at ${start} and ends at ${end}`)
  }
  return all.slice(start, end).join('')
}

/** At most `limit` parts; all of them when it is negative. An empty separator parts characters. */
const split = (text: string, separator: string, limit = -1n): string[] => {
  if (limit === 0n) return []
  const parts = separator === '' ? characters(text) : text.split(separator)
  if (limit < 0n || BigInt(parts.length) <= limit) return parts
  const kept = Number(limit) - 1
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)]
}

/** Replaces the first `limit` occurrences; all of them when it is negative. */
const replace = (text: string, searched: string, by: string, limit = -1n): string => {
  if (limit < 0n) {
    // Without a searched text, Go puts the replacement around each character, not around each UTF-16 unit.
    return searched === ''
      ? `${by}${characters(text)
          .map((each) => each + by)
          .join('')}`
      : text.replaceAll(searched, () => by)
  }
  if (searched === '') {
    const all = characters(text)
    const times = Math.min(Number(limit), all.length + 1)
    return all.map((each, index) => (index < times ? by + each : each)).join('') + (times > all.length ? by : '')
  }
  const parts = split(text, searched, limit + 1n)
  return parts.join(by)
}

const replacedLength = (text: string, searched: string, by: string): number =>
  length(text) + (text.length / Math.max(1, searched.length) + 1) * length(by)

const join = (list: readonly unknown[], separator = ''): string => {
  for (const part of list) {
    if (typeof part !== 'string') throw functionError('invalid_list_element_type', 'join() takes a list of texts')
  }
  return list.join(separator)
}

const joinedLength = (list: readonly unknown[], separator = ''): number =>
  list.reduce<number>((sum, part) => sum + (typeof part === 'string' ? length(part) : 0) + length(separator), 1)

const asciiUpper = (text: string): string => text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())
const asciiLower = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** Unicode's White_Space, as Go trims; JavaScript also trims U+FEFF, and leaves U+0085. */
const SPACE = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const LEADING = new RegExp(`^${SPACE}+`)
const isSpace = new RegExp(`^${SPACE}$`)

const trim = (text: string): string => {
  // From the end by hand: a pattern for it would look from every space in between.
  let end = text.length
  while (end > 0 && isSpace.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).replace(LEADING, '')
}

const ESCAPES: Readonly<Record<string, string>> = { ...GO_ESCAPES, '"': '\\"' }

const quote = (text: string): string => `"${Array.from(text.toWellFormed(), (each) => ESCAPES[each] ?? each).join('')}"`

export const stringFunctions: readonly CelFunction[] = [
  { signature: 'string.charAt(int): string', description: 'The character at a position.', call: charAt, cost: length },
  {
    signature: 'string.indexOf(string): int',
    description: 'Where a text first occurs, or -1.',
    call: indexOf,
    cost: length,
  },
  {
    signature: 'string.indexOf(string, int): int',
    description: 'The same, from a position on.',
    call: indexOf,
    cost: length,
  },
  {
    signature: 'string.lastIndexOf(string): int',
    description: 'Where a text last occurs, or -1.',
    call: lastIndexOf,
    cost: length,
  },
  {
    signature: 'string.lastIndexOf(string, int): int',
    description: 'The same, up to a position.',
    call: lastIndexOf,
    cost: length,
  },
  {
    signature: 'string.lowerAscii(): string',
    description: 'ASCII letters in lower case.',
    call: asciiLower,
    cost: length,
  },
  {
    signature: 'string.upperAscii(): string',
    description: 'ASCII letters in upper case.',
    call: asciiUpper,
    cost: length,
  },
  {
    signature: 'string.replace(string, string): string',
    description: 'Every occurrence replaced.',
    call: replace,
    cost: replacedLength,
  },
  {
    signature: 'string.replace(string, string, int): string',
    description: 'The first n occurrences replaced.',
    call: replace,
    cost: replacedLength,
  },
  {
    signature: 'string.split(string): list<string>',
    description: 'The parts between separators.',
    call: split,
    cost: length,
  },
  { signature: 'string.split(string, int): list<string>', description: 'At most n parts.', call: split, cost: length },
  {
    signature: 'string.substring(int): string',
    description: 'From a position to the end.',
    call: substring,
    cost: length,
  },
  {
    signature: 'string.substring(int, int): string',
    description: 'From a position up to another.',
    call: substring,
    cost: length,
  },
  { signature: 'string.trim(): string', description: 'Without white space at both ends.', call: trim, cost: length },
  {
    signature: 'string.reverse(): string',
    description: 'The characters in reverse.',
    call: (text: string) => characters(text).reverse().join(''),
    cost: length,
  },
  {
    signature: 'list.join(): string',
    description: 'The texts of a list, one after another.',
    call: join,
    cost: joinedLength,
  },
  {
    signature: 'list.join(string): string',
    description: 'The same, with a separator.',
    call: join,
    cost: joinedLength,
  },
  {
    signature: 'string.format(list): string',
    description: 'Fills in %s %d %f %e %b %o %x %X, as cel-go does.',
    call: format,
    cost: (text: string, args: unknown) => length(text) + valuesIn(args),
  },
  {
    signature: 'StringsNamespace.quote(string): string',
    description: 'As a quoted literal: strings.quote(x).',
    call: (_: unknown, text: string) => quote(text),
    cost: (_: unknown, text: string) => length(text),
  },
]
