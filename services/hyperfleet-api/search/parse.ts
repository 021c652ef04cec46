import { parseTimestamp } from '../model/timestamp.ts'
import { Problem } from '../problems/problem.ts'
import { type Token, tokens } from './token.ts'
import type { Comparison, Search, TextColumn, TextTest } from './tree.ts'

/**
 * Reads `search`:
 *
 *   search     = and { 'or' and }
 *   and        = term { 'and' term }
 *   term       = 'not' term | '(' search ')' | comparison
 *   comparison = name operator value | name [ 'not' ] 'in' '[' value { ',' value } ']'
 *
 * A name is `labels.<key>`, `status.conditions.<Type>`, one of its `last_updated_time`, `last_transition_time` and
 * `observed_generation`, or a text column. Anything else is refused: a search that is half understood lists the
 * wrong resources.
 * @throws Problem badRequest
 */
export const parseSearch = (text: string): Search => new Parser(tokens(text)).whole()

/** Deeper nesting than any client writes; keeps recursion bounded. */
const DEEPEST = 50

const TEXT_COLUMNS = new Set<string>([
  'id',
  'name',
  'kind',
  'href',
  'owner_id',
  'owner_kind',
  'created_by',
  'updated_by',
] satisfies TextColumn[])
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
const CONDITION = /^status\.conditions\.([A-Z][A-Za-z0-9]*)(?:\.([a-z_]+))?$/
const LARGEST_GENERATION = 2 ** 31 - 1

class Parser {
  readonly #tokens: readonly Token[]
  #next = 0
  #depth = 0

  constructor(all: readonly Token[]) {
    this.#tokens = all
  }

  whole(): Search {
    const search = this.#or()
    if (this.#peek().type !== 'end') throw this.#unexpected('and, or, or the end')
    return search
  }

  #or(): Search {
    const operands = [this.#and()]
    while (this.#takeWord('or')) operands.push(this.#and())
    return only(operands) ?? { type: 'or', operands }
  }

  #and(): Search {
    const operands = [this.#term()]
    while (this.#takeWord('and')) operands.push(this.#term())
    return only(operands) ?? { type: 'and', operands }
  }

  #term(): Search {
    this.#depth += 1
    if (this.#depth > DEEPEST) throw new Problem('badRequest', `search: nested deeper than ${DEEPEST} levels`)
    const term = this.#takeWord('not')
      ? ({ type: 'not', operand: this.#term() } as const)
      : this.#takeSign('(')
        ? this.#group()
        : this.#comparison()
    this.#depth -= 1
    return term
  }

  #group(): Search {
    const search = this.#or()
    if (!this.#takeSign(')')) throw this.#unexpected(')')
    return search
  }

  #comparison(): Search {
    const name = this.#take()
    if (name.type !== 'name') throw this.#unexpected('a name such as labels.region', name)
    if (this.#takeWord('not')) {
      if (!this.#takeWord('in')) throw this.#unexpected('in')
      return { type: 'not', operand: this.#membership(name.text) }
    }
    if (this.#takeWord('in')) return this.#membership(name.text)
    const sign = this.#take()
    const operator = COMPARISONS[sign.text]
    if (sign.type !== 'sign' || operator === undefined) throw this.#unexpected('a comparison such as =', sign)
    return compare(name.text, operator, this.#literal())
  }

  #membership(name: string): Search {
    if (!this.#takeSign('[')) throw this.#unexpected("a list such as ['a', 'b']")
    const values = [this.#literal().text]
    while (this.#takeSign(',')) values.push(this.#literal().text)
    if (!this.#takeSign(']')) throw this.#unexpected(', or ]')
    return textSearch(name, { operator: 'in', values })
  }

  #literal(): Token {
    const token = this.#take()
    if (token.type !== 'string' && token.type !== 'number') throw this.#unexpected("a value such as 'us-east'", token)
    if (token.text.includes('\0')) throw new Problem('badRequest', 'search: a value must not contain the NUL character')
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
    const taken = token.type === 'name' && token.text.toLowerCase() === word
    if (taken) this.#next += 1
    return taken
  }

  #takeSign(sign: string): boolean {
    const token = this.#peek()
    const taken = token.type === 'sign' && token.text === sign
    if (taken) this.#next += 1
    return taken
  }

  #unexpected(wanted: string, token = this.#peek()): Problem {
    const got = token.type === 'end' ? 'the end' : JSON.stringify(token.text)
    return new Problem('badRequest', `search: expected ${wanted} at character ${token.at + 1}, but there is ${got}`)
  }
}

const only = (operands: readonly Search[]): Search | undefined => (operands.length === 1 ? operands[0] : undefined)

const compare = (name: string, operator: Comparison, literal: Token): Search => {
  const match = CONDITION.exec(name)
  if (match !== null) return conditionSearch(name, match[1] ?? '', match[2], operator, literal)
  if (operator !== '=' && operator !== '!=')
    throw new Problem('badRequest', `search: ${name} can be compared by =, != and in only`)
  return textSearch(name, { operator, value: literal.text })
}

const textSearch = (name: string, test: TextTest): Search => {
  if (name.startsWith('labels.')) return { type: 'label', key: name.slice('labels.'.length), test }
  if (TEXT_COLUMNS.has(name)) return { type: 'column', column: name as TextColumn, test }
  throw new Problem(
    'badRequest',
    `search: ${name} can't be searched here; use labels.<key>, status.conditions.<Type> or one of ${[...TEXT_COLUMNS].join(', ')}`,
  )
}

const conditionSearch = (
  name: string,
  condition: string,
  part: string | undefined,
  operator: Comparison,
  literal: Token,
): Search => {
  switch (part) {
    case undefined: {
      if (operator !== '=' || !['True', 'False', 'Unknown'].includes(literal.text))
        throw new Problem('badRequest', `search: ${name} can only be compared by = with 'True', 'False' or 'Unknown'`)
      // No condition of a resource is ever Unknown, so that search matches nothing.
      return literal.text === 'Unknown'
        ? { type: 'or', operands: [] }
        : { type: 'condition', condition, status: literal.text as 'True' | 'False' }
    }
    case 'last_updated_time':
    case 'last_transition_time': {
      const time = parseTimestamp(literal.text)
      if (time === undefined)
        throw new Problem('badRequest', `search: ${name} takes an RFC 3339 time such as '2026-01-31T12:00:00Z'`)
      return { type: 'conditionTime', condition, column: part, operator, time }
    }
    case 'observed_generation': {
      const generation = Number(literal.text)
      if (literal.type !== 'number' || Math.abs(generation) > LARGEST_GENERATION)
        throw new Problem('badRequest', `search: ${name} takes a whole number up to ${LARGEST_GENERATION}`)
      return { type: 'conditionGeneration', condition, operator, generation }
    }
    default:
      throw new Problem(
        'badRequest',
        `search: ${name} is none of status.conditions.${condition}.{last_updated_time, last_transition_time, observed_generation}`,
      )
  }
}
