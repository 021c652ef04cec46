import { Problem } from '../problems/problem.ts'

/** The words of a search text. Strings may be quoted by ', " or `, with backslash escapes, as in TSL. */
export type Token =
  | { readonly type: 'name'; readonly text: string; readonly at: number }
  | { readonly type: 'string'; readonly text: string; readonly at: number }
  | { readonly type: 'number'; readonly text: string; readonly at: number }
  | { readonly type: 'sign'; readonly text: string; readonly at: number }
  | { readonly type: 'end'; readonly text: ''; readonly at: number }

/** Longest search text, in characters; the peer's. */
const LONGEST = 4096

const PATTERN =
  /\s*(?:(?<name>[A-Za-z_][A-Za-z0-9_./-]*)|(?<number>-?\d+)|(?<sign>!=|<>|<=|>=|==|[=<>()[\],])|(?<string>'(?:\\[\s\S]|[^'\\])*'|"(?:\\[\s\S]|[^"\\])*"|`(?:\\[\s\S]|[^`\\])*`))/y

/** Cuts a search text into tokens, an end token last. @throws Problem badRequest that points at the place */
export const tokens = (text: string): Token[] => {
  if (text.length > LONGEST) throw new Problem('badRequest', `search must have at most ${LONGEST} characters`)
  const found: Token[] = []
  let at = 0
  while (text.slice(at).trim() !== '') {
    PATTERN.lastIndex = at
    const match = PATTERN.exec(text)
    if (match?.groups === undefined) throw unreadable(text, at)
    at = PATTERN.lastIndex
    const { name, number, sign, string } = match.groups
    const start = at - (name ?? number ?? sign ?? string ?? '').length
    if (name !== undefined) found.push({ type: 'name', text: name, at: start })
    else if (number !== undefined) found.push({ type: 'number', text: number, at: start })
    else if (sign !== undefined) found.push({ type: 'sign', text: sign, at: start })
    else if (string !== undefined)
      found.push({ type: 'string', text: string.slice(1, -1).replace(/\\([\s\S])/g, '$1'), at: start })
  }
  found.push({ type: 'end', text: '', at: text.length })
  return found
}

const unreadable = (text: string, at: number): Problem =>
  new Problem(
    'badRequest',
    `search: can't read ${JSON.stringify(text.slice(at).trim().slice(0, 20))} at character ${at + 1}`,
  )
