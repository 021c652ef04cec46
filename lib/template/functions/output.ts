import { print, println } from '../print.ts'
import { printf } from '../printf.ts'
import type { Value } from '../value.ts'
import type { TemplateFunction } from './function.ts'

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

/** Values as text, and escaped for where the text goes. */
export const outputFunctions: readonly TemplateFunction[] = [
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
]
