import { Refusal } from '../errors.ts'
import { MAX_TEXT_CHARS } from '../print.ts'
import { quote } from '../quote.ts'
import type { TemplateFunction } from './function.ts'

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
  if (text.length + places * by.length > MAX_TEXT_CHARS)
    throw new Refusal(`the text would be longer than ${MAX_TEXT_CHARS} characters`)
  if (old !== '') return text.replaceAll(old, () => by)
  return by + Array.from(text, (character) => character + by).join('')
}

/** Texts of texts. */
export const stringFunctions: readonly TemplateFunction[] = [
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
]
