import { Problem } from '../problems/problem.ts'

/** The words of a search text. */
export interface Token {
  /** `moment` is a date or time without quotes. */
  readonly type: 'name' | 'string' | 'number' | 'moment' | 'sign' | 'end'
  /** As written; of a string, what is between its quotes. */
  readonly text: string
  /** Where it begins, from 0. */
  readonly at: number
}

/** Longest search text, in characters; the Go service's. */
const MAX_SEARCH_CHARS = 4096

/** Quotes are ', " or `; inside, a backslash takes the next character literally and a doubled quote is one quote. */
export const QUOTED = ["'", '"', '`']
  .map((quote) => `${quote}(?:\\\\[\\s\\S]|${quote}${quote}|[^${quote}\\\\])*${quote}(?!${quote})`)
  .join('|')

/** What may stand where, in the order in which it is tried. Keys of labels and of a spec may be quoted in brackets. */
const TOKEN_PATTERNS = {
  name: `(?:labels|spec)(?:\\.[A-Za-z0-9_./-]+|\\[(?:${QUOTED})\\])+|[A-Za-z_][A-Za-z0-9_./-]*`,
  moment: '\\d{4}-\\d{2}-\\d{2}(?:[Tt][\\d:.]+(?:[Zz]|[+-]\\d{2}:\\d{2}))?(?![\\w.:])',
  number: '[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?(?:[KMGTP]i?)?(?![\\w.])',
  sign: '!=|<>|<=|>=|==|~=|~!|[=<>()[\\],]',
  string: QUOTED,
  end: '$',
} as const

const PATTERN = new RegExp(
  `\\s*(?:${Object.entries(TOKEN_PATTERNS)
    .map(([type, word]) => `(?<${type}>${word})`)
    .join('|')})`,
  'y',
)

/** Cuts a search text into tokens, an end token last. @throws Problem badRequest that points at the place */
export const tokenize = (text: string): Token[] => {
  if (text.length > MAX_SEARCH_CHARS)
    throw new Problem('badRequest', `search must have at most ${MAX_SEARCH_CHARS} characters`)
  const found: Token[] = []
  for (let at = 0; ; ) {
    PATTERN.lastIndex = at
    const match = PATTERN.exec(text)
    if (match?.groups === undefined) throw unreadableAt(text, at)
    const token = buildToken(match.groups, PATTERN.lastIndex)
    found.push(token)
    if (token.type === 'end') return found
    at = PATTERN.lastIndex
  }
}

const TYPES = ['name', 'moment', 'number', 'sign', 'string'] as const

const buildToken = (groups: Readonly<Record<string, string | undefined>>, end: number): Token => {
  for (const type of TYPES) {
    const word = groups[type]
    if (word !== undefined) return { type, text: type === 'string' ? unquote(word) : word, at: end - word.length }
  }
  return { type: 'end', text: '', at: end }
}

/** What is between the quotes of a string. */
export const unquote = (quoted: string): string => {
  const quote = quoted.charAt(0)
  return quoted
    .slice(1, -1)
    .replace(/\\([\s\S])|(['"`])\2/g, (all, escaped?: string) => escaped ?? (all.startsWith(quote) ? quote : all))
}

const unreadableAt = (text: string, at: number): Problem => {
  const rest = text.slice(at).trimStart()
  const start = text.length - rest.length
  const hint = /^['"`]/.test(rest) ? '; a quote is not closed' : ''
  return new Problem(
    'badRequest',
    `search: can't read ${JSON.stringify(rest.slice(0, 20).trimEnd())} at character ${start + 1}${hint}`,
  )
}
