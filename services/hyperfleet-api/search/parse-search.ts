import { Problem } from '../problems/problem.ts'
import { checkTest, type RawTest } from './check-test.ts'
import { parseOperand } from './operand.ts'
import type { Comparison, Search } from './search-tree.ts'
import { type Token, tokenize } from './tokenize.ts'

/**
 * Reads `search` (docs/reference/search.md):
 *
 *   search = and { 'or' and }
 *   and    = term { 'and' term }
 *   term   = 'not' term | '(' search ')' | name test
 *   test   = ( '=' | '==' | '!=' | '<>' | '<' | '<=' | '>' | '>=' ) value
 *          | [ 'not' ] ( 'in' list | 'like' value | 'ilike' value | 'between' value 'and' value )
 *          | 'is' [ 'not' ] 'null'
 *   list   = '[' value { ',' value } ']' | '(' value { ',' value } ')'
 *
 * A superset of the Go service's language (TSL v6). Anything else is refused: a search that is half understood lists the
 * wrong resources (API-44).
 * @throws Problem badRequest
 */
export const parseSearch = (text: string): Search => new Parser(tokenize(text)).parse()

/** Deeper nesting than any client writes; keeps recursion bounded. */
const MAX_DEPTH = 50
/** More tests than any client writes; keeps the database's planning bounded. */
const MAX_TESTS = 100

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}
/** Signs that the Go service's parser knows and its API refuses, and what to write. */
const UNSUPPORTED_SIGNS: Readonly<Record<string, string>> = { '~=': 'like', '~!': 'not like' }
const RESERVED = new Set(['and', 'or', 'not', 'in', 'like', 'ilike', 'between', 'is', 'null', 'true', 'false'])
const LISTS: Readonly<Record<string, string>> = { '[': ']', '(': ')' }

class Parser {
  readonly #tokens: readonly Token[]
  #next = 0
  #depth = 0
  #tests = 0

  constructor(all: readonly Token[]) {
    this.#tokens = all
  }

  parse(): Search {
    const search = this.#or()
    if (this.#peek().type !== 'end') throw this.#unexpected('and, or, or the end')
    return search
  }

  #or(): Search {
    const operands = [this.#and()]
    while (this.#takeWord('or')) operands.push(this.#and())
    return singleOf(operands) ?? { type: 'or', operands }
  }

  #and(): Search {
    const operands = [this.#term()]
    while (this.#takeWord('and')) operands.push(this.#term())
    return singleOf(operands) ?? { type: 'and', operands }
  }

  #term(): Search {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) throw new Problem('badRequest', `search: nested deeper than ${MAX_DEPTH} levels`)
    const term = this.#takeWord('not')
      ? ({ type: 'not', operand: this.#term() } as const)
      : this.#takeSign('(')
        ? this.#group()
        : this.#test()
    this.#depth -= 1
    return term
  }

  #group(): Search {
    const search = this.#or()
    if (!this.#takeSign(')')) throw this.#unexpected(')')
    return search
  }

  #test(): Search {
    this.#tests += 1
    if (this.#tests > MAX_TESTS)
      throw new Problem('badRequest', `search: more than ${MAX_TESTS} tests; write a in ['x', 'y'] for a='x' or a='y'`)
    const name = this.#take()
    if (name.type !== 'name' || RESERVED.has(name.text.toLowerCase()))
      throw this.#unexpected('a name such as labels.region', name)
    const operand = parseOperand(name.text)
    const isTested = !this.#takeWord('is')
    const isNot = this.#takeWord('not')
    if (!isTested && !this.#takeWord('null')) throw this.#unexpected('null')
    const test: Search = isTested
      ? checkTest(name.text, operand, this.#wordTest() ?? this.#comparison(isNot))
      : { type: 'missing', operand }
    return isNot ? { type: 'not', operand: test } : test
  }

  /** A test that begins with a word. */
  #wordTest(): RawTest | undefined {
    if (this.#takeWord('in')) return { operator: 'in', values: this.#list() }
    if (this.#takeWord('like')) return { operator: 'like', pattern: this.#value() }
    if (this.#takeWord('ilike')) return { operator: 'ilike', pattern: this.#value() }
    if (!this.#takeWord('between')) return undefined
    const low = this.#value()
    if (!this.#takeWord('and')) throw this.#unexpected('and')
    return { operator: 'between', low, high: this.#value() }
  }

  #comparison(isNot: boolean): RawTest {
    const sign = this.#take()
    const instead = UNSUPPORTED_SIGNS[sign.text]
    if (instead !== undefined) throw new Problem('badRequest', `search: there is no ${sign.text}; write ${instead}`)
    const operator = sign.type === 'sign' && !isNot ? COMPARISONS[sign.text] : undefined
    if (operator === undefined)
      throw this.#unexpected(isNot ? 'in, like, ilike or between' : 'a comparison such as =', sign)
    return { operator, value: this.#value() }
  }

  #list(): readonly Token[] {
    const open = this.#take()
    const close = open.type === 'sign' ? LISTS[open.text] : undefined
    if (close === undefined) throw this.#unexpected("a list such as ['a', 'b']", open)
    const values = [this.#value()]
    while (this.#takeSign(',')) values.push(this.#value())
    if (!this.#takeSign(close)) throw this.#unexpected(`, or ${close}`)
    return values
  }

  #value(): Token {
    const token = this.#take()
    if (token.text.includes('\0')) throw new Problem('badRequest', 'search: a value must not contain the NUL character')
    if (token.type === 'name' && token.text.toLowerCase() === 'null')
      throw new Problem('badRequest', 'search: nothing equals null; write is null or is not null')
    const isBoolean = token.type === 'name' && /^(?:true|false)$/i.test(token.text)
    if (!isBoolean && !['string', 'number', 'moment'].includes(token.type))
      throw this.#unexpected("a value such as 'us-east'", token)
    return token
  }

  #peek(): Token {
    // The last token is the end and is never passed, so there is always one.
    return this.#tokens[this.#next] ?? { type: 'end', text: '', at: 0 }
  }

  #take(): Token {
    const token = this.#peek()
    if (token.type !== 'end') this.#next += 1
    return token
  }

  #takeWord(word: string): boolean {
    const token = this.#peek()
    const matches = token.type === 'name' && token.text.toLowerCase() === word
    if (matches) this.#next += 1
    return matches
  }

  #takeSign(sign: string): boolean {
    const token = this.#peek()
    const matches = token.type === 'sign' && token.text === sign
    if (matches) this.#next += 1
    return matches
  }

  #unexpected(expected: string, token = this.#peek()): Problem {
    const got = token.type === 'end' ? 'the end' : JSON.stringify(token.text)
    return new Problem('badRequest', `search: expected ${expected} at character ${token.at + 1}, but there is ${got}`)
  }
}

const singleOf = (operands: readonly Search[]): Search | undefined => (operands.length === 1 ? operands[0] : undefined)
