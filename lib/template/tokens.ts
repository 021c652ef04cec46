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

const KEYWORDS = new Set('block break continue define else end if nil range template with'.split(' '))
const MARKS = ['|', '=', ',', '(', ')'] as const
type Mark = (typeof MARKS)[number]
const isMark = (character: string): character is Mark => (MARKS as readonly string[]).includes(character)

const NUMBER = /^[+-]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?(?:\d[\d_]*)?(?:[eE][+-]?[\d_]+)?)/
const SPACE = /[ \t\r\n]/
const isSpace = (character: string): boolean => character !== '' && SPACE.test(character)
const isWord = (character: string): boolean => character !== '' && /[\p{L}\p{Nd}_]/u.test(character)

/** `-` after `{{` trims when white space follows it. */
const trimsBefore = (text: string, at: number): boolean => text[at] === '-' && isSpace(text.charAt(at + 1))
/** `-` before `}}` trims when white space precedes it. */
const trimsAfter = (text: string, at: number): boolean => isSpace(text.charAt(at)) && text.startsWith('-}}', at + 1)

/** @throws TemplateSyntaxError */
export const tokenize = (text: string): Token[] => new Tokenizer(text).run()

class Tokenizer {
  readonly #text: string
  readonly #tokens: Token[] = []
  #position = 0
  #trimNext = false

  constructor(text: string) {
    this.#text = text
  }

  run(): Token[] {
    while (this.#position < this.#text.length) {
      this.#readText()
      if (this.#position >= this.#text.length) break
      const open = this.#position
      this.#position += 2
      const trims = trimsBefore(this.#text, this.#position)
      const body = trims ? this.#position + 2 : this.#position
      if (this.#text.startsWith('/*', body)) {
        this.#position = body
        this.#readComment(open)
      } else {
        // The space after a trimming mark is a space of the action.
        if (trims) this.#position += 1
        this.#readAction(open)
      }
    }
    this.#push('end', this.#text.length)
    return this.#tokens
  }

  get #character(): string {
    return this.#text.charAt(this.#position)
  }

  /** With the second half of a pair of surrogates. */
  get #wholeCharacter(): string {
    return String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0)
  }

  #startsWith(mark: string): boolean {
    return this.#text.startsWith(mark, this.#position)
  }

  /** A token from `start` to where we are. */
  #push(kind: TokenKind, start: number): void {
    this.#tokens.push({ kind, text: this.#text.slice(start, this.#position), at: start })
  }

  #failure(summary: string, at: number): TemplateSyntaxError {
    return new TemplateSyntaxError(summary, this.#text, at)
  }

  /** Text up to the next action; without white space at the ends where its neighbours ask for that. */
  #readText(): void {
    const text = this.#text
    const open = text.indexOf('{{', this.#position)
    const end = open < 0 ? text.length : open
    let from = this.#position
    let to = end
    if (this.#trimNext) while (from < to && isSpace(text.charAt(from))) from += 1
    if (open >= 0 && trimsBefore(text, open + 2)) while (to > from && isSpace(text.charAt(to - 1))) to -= 1
    if (to > from) this.#tokens.push({ kind: 'text', text: text.slice(from, to), at: from })
    this.#trimNext = false
    this.#position = end
  }

  #readComment(open: number): void {
    const end = this.#text.indexOf('*/', this.#position)
    if (end < 0) throw this.#failure('the comment does not end: write */}} after it', open)
    this.#position = end + 2
    if (this.#startsWith('}}')) this.#position += 2
    else if (trimsAfter(this.#text, this.#position)) {
      this.#position += 4
      this.#trimNext = true
    } else throw this.#failure('a comment stands alone in its braces: write */}} at its end', end)
  }

  /** Everything between `{{` and `}}`. */
  #readAction(open: number): void {
    this.#tokens.push({ kind: 'open', text: '{{', at: open })
    for (let depth = 0; ; ) {
      const start = this.#position
      const trims = trimsAfter(this.#text, start)
      if (trims || this.#startsWith('}}')) {
        if (depth > 0) throw this.#failure('a ( has no )', open)
        this.#position += trims ? 4 : 2
        this.#trimNext = trims
        this.#tokens.push({ kind: 'close', text: '}}', at: start })
        return
      }
      if (this.#character === '') throw this.#failure('the action does not end: write }} after it', open)
      if (this.#character === '(') depth += 1
      if (this.#character === ')') depth -= 1
      if (depth < 0) throw this.#failure('a ) has no (', start)
      this.#readToken(start)
    }
  }

  #readToken(start: number): void {
    const character = this.#character
    if (isSpace(character)) {
      while (isSpace(this.#character) && !trimsAfter(this.#text, this.#position)) this.#position += 1
      this.#tokens.push({ kind: 'space', text: ' ', at: start })
    } else if (isMark(character)) this.#readMark(character, start)
    else if (this.#startsWith(':=')) this.#readMark(':=', start)
    else if (character === '"' || character === '`' || character === "'") this.#readQuoted(start, character)
    else if (character === '$') {
      this.#position += 1
      this.#readWord('variable', start)
    } else if (character === '.' && !/\d/.test(this.#text.charAt(start + 1))) {
      this.#position += 1
      if (this.#atTerminator()) this.#push('dot', start)
      else this.#readWord('field', start)
    } else if (/[\d+.-]/.test(character)) this.#readNumber(start)
    else if (isWord(this.#wholeCharacter)) this.#readWord('identifier', start)
    else throw this.#failure(`${JSON.stringify(character)} has no meaning here`, start)
  }

  #readMark(kind: Mark | ':=', start: number): void {
    this.#position += kind.length
    this.#push(kind, start)
  }

  #readWord(kind: TokenKind, start: number): void {
    while (this.#position < this.#text.length && isWord(this.#wholeCharacter))
      this.#position += this.#wholeCharacter.length
    if (!this.#atTerminator())
      throw this.#failure(`there is a ${JSON.stringify(this.#character)} in a name`, this.#position)
    const found = this.#text.slice(start, this.#position)
    const isLiteral = found === 'true' || found === 'false'
    this.#push(kind !== 'identifier' ? kind : KEYWORDS.has(found) ? 'keyword' : isLiteral ? 'bool' : kind, start)
  }

  #atTerminator(): boolean {
    const next = this.#character
    return next === '' || isSpace(next) || '.,|:()'.includes(next) || this.#startsWith('}}')
  }

  #readQuoted(start: number, mark: string): void {
    this.#position = start + 1
    for (;;) {
      const character = this.#character
      if (character === '' || (character === '\n' && mark !== '`'))
        throw this.#failure(`there is no ${mark} at the end of this`, start)
      this.#position += 1
      if (character === mark) break
      if (character === '\\' && mark !== '`') this.#position += 1
    }
    this.#push(mark === "'" ? 'character' : 'string', start)
  }

  #readNumber(start: number): void {
    this.#position += NUMBER.exec(this.#text.slice(start))?.[0].length ?? 0
    const found = this.#text.slice(start, this.#position)
    if (!/\d/.test(found) || isWord(this.#character) || this.#character === '.') {
      const excerpt = this.#text.slice(start, this.#position + 1)
      throw this.#failure(`${JSON.stringify(excerpt)} is no number`, start)
    }
    this.#push('number', start)
  }
}
