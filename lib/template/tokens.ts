/** Go's text/template, first step: text into tokens. Follows the language's description, quirks of white space included. */
import { TemplateSyntaxError } from './errors.ts'

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'field'
  | 'dot'
  | 'variable'
  | 'identifier'
  | 'keyword'
  | 'bool'
  | 'number'
  | 'character'
  | 'string'
  | '|'
  | '='
  | ':='
  | ','
  | '('
  | ')'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  /** As it is written. */
  readonly text: string
  readonly at: number
}

const KEYWORDS = new Set([
  'block',
  'break',
  'continue',
  'define',
  'else',
  'end',
  'if',
  'nil',
  'range',
  'template',
  'with',
])

const SPACE = /[ \t\r\n]/
const isSpace = (character: string): boolean => character !== '' && SPACE.test(character)
const isWord = (character: string): boolean => character !== '' && /[\p{L}\p{Nd}_]/u.test(character)

/** `-` after `{{` trims when white space follows it. */
const trimsBefore = (text: string, at: number): boolean => text[at] === '-' && isSpace(text.charAt(at + 1))
/** `-` before `}}` trims when white space precedes it. */
const trimsAfter = (text: string, at: number): boolean => isSpace(text.charAt(at)) && text.startsWith('-}}', at + 1)

/** @throws TemplateSyntaxError */
export const tokenize = (text: string): Token[] => {
  const tokens: Token[] = []
  const fail = (summary: string, at: number): TemplateSyntaxError => new TemplateSyntaxError(summary, text, at)
  let position = 0
  let trimNext = false

  /** Text up to the next action; without white space at the ends where its neighbours ask for that. */
  const readText = (): void => {
    const open = text.indexOf('{{', position)
    const end = open < 0 ? text.length : open
    let from = position
    let to = end
    if (trimNext) while (from < to && isSpace(text.charAt(from))) from += 1
    if (open >= 0 && trimsBefore(text, open + 2)) while (to > from && isSpace(text.charAt(to - 1))) to -= 1
    if (to > from) tokens.push({ kind: 'text', text: text.slice(from, to), at: from })
    trimNext = false
    position = end
  }

  const readComment = (open: number): void => {
    const end = text.indexOf('*/', position)
    if (end < 0) throw fail('the comment does not end: write */}} after it', open)
    position = end + 2
    if (text.startsWith('}}', position)) position += 2
    else if (trimsAfter(text, position)) {
      position += 4
      trimNext = true
    } else throw fail('a comment stands alone in its braces: write */}} at its end', end)
  }

  const atTerminator = (): boolean => {
    const next = text.charAt(position)
    return next === '' || isSpace(next) || '.,|:()'.includes(next) || text.startsWith('}}', position)
  }

  const word = (kind: TokenKind, start: number): void => {
    for (;;) {
      const character = String.fromCodePoint(text.codePointAt(position) ?? 0)
      if (!isWord(character) || position >= text.length) break
      position += character.length
    }
    if (!atTerminator()) throw fail(`there is a ${JSON.stringify(text.charAt(position))} in a name`, position)
    const found = text.slice(start, position)
    const isLiteral = found === 'true' || found === 'false'
    const actual = kind !== 'identifier' ? kind : KEYWORDS.has(found) ? 'keyword' : isLiteral ? 'bool' : kind
    tokens.push({ kind: actual, text: found, at: start })
  }

  const quoted = (start: number, mark: string): void => {
    position = start + 1
    for (;;) {
      const character = text.charAt(position)
      if (character === '' || (character === '\n' && mark !== '`'))
        throw fail(`there is no ${mark} at the end of this`, start)
      position += 1
      if (character === mark) break
      if (character === '\\' && mark !== '`') position += 1
    }
    tokens.push({ kind: mark === "'" ? 'character' : 'string', text: text.slice(start, position), at: start })
  }

  const number = (start: number): void => {
    const match =
      /^[+-]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?(?:\d[\d_]*)?(?:[eE][+-]?[\d_]+)?)/.exec(
        text.slice(start),
      )
    position = start + (match?.[0].length ?? 0)
    if (!/\d/.test(text.slice(start, position)) || isWord(text.charAt(position)) || text.charAt(position) === '.') {
      throw fail(`${JSON.stringify(text.slice(start, position + 1))} is no number`, start)
    }
    tokens.push({ kind: 'number', text: text.slice(start, position), at: start })
  }

  const single = (kind: TokenKind, start: number): void => {
    position = start + kind.length
    tokens.push({ kind, text: kind, at: start })
  }

  /** Everything between `{{` and `}}`. */
  const readAction = (open: number): void => {
    tokens.push({ kind: 'open', text: '{{', at: open })
    let depth = 0
    for (;;) {
      const start = position
      const character = text.charAt(position)
      const trims = trimsAfter(text, position)
      if (trims || text.startsWith('}}', position)) {
        if (depth > 0) throw fail('a ( has no )', open)
        position += trims ? 4 : 2
        trimNext = trims
        tokens.push({ kind: 'close', text: '}}', at: start })
        return
      }
      if (character === '') throw fail('the action does not end: write }} after it', open)
      if (isSpace(character)) {
        while (isSpace(text.charAt(position)) && !trimsAfter(text, position)) position += 1
        tokens.push({ kind: 'space', text: ' ', at: start })
      } else if (character === '|' || character === '=' || character === ',') single(character, start)
      else if (text.startsWith(':=', position)) single(':=', start)
      else if (character === '(') {
        depth += 1
        single('(', start)
      } else if (character === ')') {
        depth -= 1
        if (depth < 0) throw fail('a ) has no (', start)
        single(')', start)
      } else if (character === '"' || character === '`' || character === "'") quoted(start, character)
      else if (character === '$') {
        position += 1
        word('variable', start)
      } else if (character === '.' && !/\d/.test(text.charAt(position + 1))) {
        position += 1
        const isDot = atTerminator()
        if (isDot) tokens.push({ kind: 'dot', text: '.', at: start })
        else word('field', start)
      } else if (/[\d+.-]/.test(character)) number(start)
      else if (isWord(String.fromCodePoint(text.codePointAt(position) ?? 0))) word('identifier', start)
      else throw fail(`${JSON.stringify(character)} has no meaning here`, start)
    }
  }

  while (position < text.length) {
    readText()
    if (position >= text.length) break
    const open = position
    position += 2
    const body = trimsBefore(text, position) ? position + 2 : position
    if (text.startsWith('/*', body)) {
      position = body
      readComment(open)
    } else {
      // The space after a trimming mark is a space of the action.
      position = body === position ? position : position + 1
      readAction(open)
    }
  }
  tokens.push({ kind: 'end', text: '', at: text.length })
  return tokens
}
