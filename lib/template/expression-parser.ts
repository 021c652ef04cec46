import { nearest } from '../text/nearest.ts'
import { readNumber, unquote } from './literal.ts'
import { TokenCursor } from './token-cursor.ts'
import type { Token } from './tokens.ts'
import type { Command, Operand, Pipeline } from './tree.ts'

/** What expressions may name. */
export interface Names {
  readonly functions: readonly string[]
  /** First fields that the data has; any are taken when undefined. */
  readonly variables: readonly string[] | undefined
}

/** Branches and parentheses inside each other: more than any template that people read has. */
const MAX_DEPTH = 100

/** The known name that was probably meant, for the end of a message. */
export const advice = (name: string, known: readonly string[]): string => {
  const near = nearest(name, known)
  return near === undefined ? (known.length === 0 ? '' : `: there are ${known.join(', ')}`) : `: did you mean ${near}?`
}

const CONSTANTS = new Set<Operand['kind']>(['constant', 'dot', 'nil'])

/** Pipelines: functions and values between `{{` and `}}`. */
export class ExpressionParser extends TokenCursor {
  readonly #names: Names
  /** Variables in scope, the innermost last. */
  protected variables = ['$']
  protected depth = 0
  /** Whether `.` is the template's data here: not inside range, with or define. */
  protected dotIsData = true
  protected inDefinition = false
  protected readonly used = new Set<string>()

  constructor(text: string, names: Names) {
    super(text)
    this.#names = names
  }

  protected deepen(at: number): void {
    this.depth += 1
    if (this.depth > MAX_DEPTH)
      throw this.fail(`more than ${MAX_DEPTH} branches or parentheses are inside each other`, at)
  }

  protected pipeline(end: 'close' | ')', where: string): Pipeline {
    const at = this.peekPastSpace().at
    const { variables, assigns } = this.#declarations(where)
    const commands: Command[] = []
    for (;;) {
      const token = this.peekPastSpace()
      if (token.kind === end) {
        this.take()
        break
      }
      if (!startsOperand(token)) throw this.unexpected(token, where)
      commands.push(this.#command())
    }
    if (commands.length === 0) throw this.fail(`there is no value in ${where}`, at)
    for (const [first] of commands.slice(1)) {
      if (CONSTANTS.has(first.kind)) throw this.fail('what follows a | must be a function', first.at)
    }
    return { variables, assigns, commands, at }
  }

  /** `$x :=`, `$x =`, and in a range `$i, $x :=`. */
  #declarations(where: string): { variables: readonly string[]; assigns: boolean } {
    const variables: string[] = []
    const start = this.position
    while (this.peekPastSpace().kind === 'variable') {
      const variable = this.take()
      const next = this.peekPastSpace()
      if (next.kind === ',' && where === 'range' && variables.length === 0) {
        this.take()
        variables.push(variable.text)
        if (this.peekPastSpace().kind !== 'variable') throw this.unexpected(this.peek(), 'range: write $i, $x :=')
        continue
      }
      if (next.kind !== '=' && next.kind !== ':=') break
      this.take()
      variables.push(variable.text)
      const assigns = next.kind === '='
      for (const name of variables) {
        if (assigns) this.#known(name, variable.at)
      }
      if (!assigns) this.variables.push(...variables)
      return { variables, assigns }
    }
    if (variables.length > 0) throw this.unexpected(this.peek(), 'range: write $i, $x := range')
    this.goTo(start)
    return { variables: [], assigns: false }
  }

  #known(variable: string, at: number): void {
    if (this.variables.includes(variable)) return
    throw this.fail(`there is no variable ${variable}${advice(variable, this.variables.slice(1))}`, at)
  }

  #command(): Command {
    const operands: Operand[] = []
    for (;;) {
      this.skipSpace()
      const operand = this.#operand()
      if (operand !== undefined) operands.push(operand)
      const next = this.take()
      if (next.kind === 'space') continue
      if (next.kind === '|') break
      this.goTo(this.position - 1)
      if (next.kind === 'close' || next.kind === ')') break
      throw this.unexpected(next, 'a command')
    }
    const [first, ...rest] = operands
    if (first === undefined) throw this.fail('there is no value before the |', this.at())
    return [first, ...rest]
  }

  #operand(): Operand | undefined {
    const of = this.#term()
    if (of === undefined) return undefined
    const path: string[] = []
    while (this.peek().kind === 'field') path.push(this.take().text.slice(1))
    if (path.length === 0) return of
    switch (of.kind) {
      case 'field':
        return { ...of, path: [...of.path, ...path] }
      case 'variable': {
        if (of.name === '$' && !this.inDefinition) this.#data(path[0] ?? '', of.at)
        return { ...of, path: [...of.path, ...path] }
      }
      case 'constant':
      case 'dot':
      case 'nil':
        throw this.fail('a constant has no fields', of.at)
      default:
        return { kind: 'chain', of, path, at: of.at }
    }
  }

  #term(): Operand | undefined {
    const { kind, text, at } = this.peek()
    if (!startsOperand(this.peek())) return undefined
    this.take()
    switch (kind) {
      case 'identifier':
        if (this.#names.functions.includes(text)) return { kind: 'function', name: text, at }
        throw this.fail(`there is no function ${text}${this.#meant(text)}`, at)
      case 'keyword':
        return { kind: 'nil', at }
      case 'dot':
        return { kind: 'dot', at }
      case 'variable':
        this.#known(text, at)
        return { kind: 'variable', name: text, path: [], at }
      case 'field':
        if (this.dotIsData) this.#data(text.slice(1), at)
        return { kind: 'field', path: [text.slice(1)], at }
      case 'bool':
        return { kind: 'constant', value: text === 'true', at }
      case '(': {
        this.deepen(at)
        const pipeline = this.pipeline(')', 'parentheses')
        this.depth -= 1
        return { kind: 'pipeline', pipeline, at }
      }
      default:
        return { kind: 'constant', value: this.#literal({ kind, text, at }), at }
    }
  }

  /** A name without its dot is the usual slip. */
  #meant(name: string): string {
    if (this.#names.variables?.includes(name) === true) return `: write .${name} for the value of that name`
    const near = nearest(name, this.#names.functions)
    return near === undefined ? '' : `: did you mean ${near}?`
  }

  #literal({ kind, text, at }: Token): string | bigint | number {
    if (kind === 'number') {
      const value = readNumber(text)
      if (value === undefined) throw this.fail(`${text} is no number`, at)
      return value
    }
    const value = unquote(text)
    if (value === undefined)
      throw this.fail(`${text} has an escape that is not known: \\n, \\t, \\" and \\u00e9 are`, at)
    if (kind === 'string') return value
    if (Array.from(value).length !== 1)
      throw this.fail(`${text} is not one character: write a text in double quotes`, at)
    return BigInt(value.codePointAt(0) ?? 0)
  }

  /** A first field of the template's data. */
  #data(name: string, at: number): void {
    this.used.add(name)
    const known = this.#names.variables
    if (known === undefined || known.includes(name)) return
    throw this.fail(`there is no value .${name}${advice(name, known)}`, at)
  }
}

const startsOperand = ({ kind, text }: Token): boolean => {
  switch (kind) {
    case 'keyword':
      return text === 'nil'
    case 'identifier':
    case 'dot':
    case 'field':
    case 'variable':
    case 'bool':
    case 'number':
    case 'character':
    case 'string':
    case '(':
      return true
    default:
      return false
  }
}
