import { TemplateSyntaxError } from './errors.ts'
import { type Token, type TokenKind, tokenize } from './tokens.ts'

/** The tokens of a template, one after the other. */
export class TokenCursor {
  readonly #text: string
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(text: string) {
    this.#text = text
    this.#tokens = tokenize(text)
  }

  protected fail(summary: string, at: number): TemplateSyntaxError {
    return new TemplateSyntaxError(summary, this.#text, at)
  }

  protected peek(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', text: '', at: this.#text.length }
  }

  protected take(): Token {
    const token = this.peek()
    this.#next += 1
    return token
  }

  protected at(): number {
    return this.#tokens[Math.max(0, this.#next - 1)]?.at ?? 0
  }

  protected skipSpace(): void {
    while (this.peek().kind === 'space') this.#next += 1
  }

  protected peekPastSpace(): Token {
    this.skipSpace()
    return this.peek()
  }

  protected expect(kind: TokenKind, where: string): Token {
    this.skipSpace()
    const token = this.take()
    if (token.kind !== kind) throw this.unexpected(token, where)
    return token
  }

  protected unexpected(token: Token, where: string): TemplateSyntaxError {
    const what = token.kind === 'end' ? 'the end of the template' : JSON.stringify(token.text)
    return this.fail(`${what} is not expected in ${where}`, token.at)
  }

  /** Where the cursor is, for `goTo`. */
  protected get position(): number {
    return this.#next
  }

  protected goTo(position: number): void {
    this.#next = position
  }
}
