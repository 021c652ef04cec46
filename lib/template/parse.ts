/** Go's text/template, second step: tokens into a tree. Unknown names are found here, before anything is rendered. */
import { nearest } from '../text/nearest.ts'
import { TemplateSyntaxError } from './errors.ts'
import { readNumber, unquote } from './literal.ts'
import { type Token, type TokenKind, tokenize } from './tokens.ts'
import type { Branch, Command, Operand, Part, Pipeline, Tree } from './tree.ts'

export interface Names {
  readonly functions: readonly string[]
  /** First fields that the data has; any are taken when undefined. */
  readonly variables: readonly string[] | undefined
}

/** Branches and parentheses inside each other: more than any template that people read has. */
const DEEPEST = 100

/** @throws TemplateSyntaxError */
export const parse = (text: string, names: Names): Tree => new Parser(text, names).tree()

/** How a list of parts ended. */
type Ending = 'end' | 'else' | 'text'

const advice = (name: string, known: readonly string[]): string => {
  const near = nearest(name, known)
  return near === undefined ? (known.length === 0 ? '' : `: there are ${known.join(', ')}`) : `: did you mean ${near}?`
}

const CONSTANTS = new Set<Operand['kind']>(['constant', 'dot', 'nil'])

class Parser {
  readonly #text: string
  readonly #names: Names
  readonly #tokens: readonly Token[]
  #next = 0
  /** Variables in scope, the innermost last. */
  #variables = ['$']
  #rangeDepth = 0
  #depth = 0
  /** Whether `.` is the template's data here: not inside range, with or define. */
  #dotIsData = true
  #inDefinition = false
  readonly #defined = new Map<string, readonly Part[]>()
  readonly #calls: { readonly name: string; readonly at: number }[] = []
  readonly #used = new Set<string>()

  constructor(text: string, names: Names) {
    this.#text = text
    this.#names = names
    this.#tokens = tokenize(text)
  }

  tree(): Tree {
    const { parts, ending } = this.#parts(true)
    if (ending !== 'text') throw this.#fail(`{{${ending}}} closes nothing`, this.#at())
    for (const { name, at } of this.#calls) {
      if (this.#defined.has(name)) continue
      throw this.#fail(`there is no template ${JSON.stringify(name)}${advice(name, [...this.#defined.keys()])}`, at)
    }
    return { main: parts, defined: this.#defined, names: this.#used }
  }

  #fail(summary: string, at: number): TemplateSyntaxError {
    return new TemplateSyntaxError(summary, this.#text, at)
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', text: '', at: this.#text.length }
  }

  #take(): Token {
    const token = this.#peek()
    this.#next += 1
    return token
  }

  #at(): number {
    return this.#tokens[Math.max(0, this.#next - 1)]?.at ?? 0
  }

  #skipSpace(): void {
    while (this.#peek().kind === 'space') this.#next += 1
  }

  #peekPastSpace(): Token {
    this.#skipSpace()
    return this.#peek()
  }

  #expect(kind: TokenKind, where: string): Token {
    this.#skipSpace()
    const token = this.#take()
    if (token.kind !== kind) throw this.#unexpected(token, where)
    return token
  }

  #unexpected(token: Token, where: string): TemplateSyntaxError {
    const what = token.kind === 'end' ? 'the end of the template' : JSON.stringify(token.text)
    return this.#fail(`${what} is not expected in ${where}`, token.at)
  }

  /** Parts up to `{{end}}`, `{{else}}` or the end of the text; the `else` or `end` is taken, not what follows it. */
  #parts(outermost = false): { parts: Part[]; ending: Ending } {
    const parts: Part[] = []
    for (;;) {
      const token = this.#take()
      if (token.kind === 'text') {
        parts.push({ kind: 'text', text: token.text, at: token.at })
        continue
      }
      if (token.kind === 'end') return { parts, ending: 'text' }
      const first = this.#peekPastSpace()
      if (first.kind !== 'keyword' || first.text === 'nil') {
        parts.push({ kind: 'action', pipeline: this.#pipeline('close', 'an action'), at: token.at })
        continue
      }
      this.#take()
      if (first.text === 'end' || first.text === 'else') return { parts, ending: first.text }
      if (first.text === 'define') this.#define(first, outermost && this.#depth === 0)
      else parts.push(this.#control(first))
    }
  }

  #deepen(at: number): void {
    this.#depth += 1
    if (this.#depth > DEEPEST)
      throw this.#fail(`more than ${DEEPEST} branches or parentheses are inside each other`, at)
  }

  #control(keyword: Token): Part {
    switch (keyword.text) {
      case 'if':
      case 'with':
      case 'range':
        return this.#branch(keyword.text, keyword.at)
      case 'break':
      case 'continue':
        this.#expect('close', `{{${keyword.text}}}`)
        if (this.#rangeDepth === 0) throw this.#fail(`{{${keyword.text}}} stands outside of a range`, keyword.at)
        return { kind: keyword.text, at: keyword.at }
      case 'template':
        return this.#template(keyword.at)
      case 'block':
        return this.#block(keyword.at)
      default:
        throw this.#unexpected(keyword, 'an action')
    }
  }

  #branch(kind: Branch['kind'], at: number): Branch {
    this.#deepen(at)
    const variables = this.#variables.length
    const dotIsData = this.#dotIsData
    const pipeline = this.#pipeline('close', kind)
    if (kind === 'range') this.#rangeDepth += 1
    if (kind !== 'if') this.#dotIsData = false
    const body = this.#parts()
    if (kind === 'range') this.#rangeDepth -= 1
    this.#dotIsData = dotIsData
    const otherwise = body.ending === 'else' ? this.#otherwise(kind, at) : []
    if (body.ending === 'text') throw this.#fail(`{{${kind}}} has no {{end}}`, at)
    if (body.ending === 'end') this.#expect('close', '{{end}}')
    this.#variables.length = variables
    this.#depth -= 1
    return { kind, pipeline, body: body.parts, otherwise, at }
  }

  /** What follows `else`: `else if …` and `else with …` are branches of their own, which end together with this one. */
  #otherwise(kind: Branch['kind'], at: number): Part[] {
    const next = this.#peekPastSpace()
    if (next.kind === 'keyword' && next.text === kind && (kind === 'if' || kind === 'with')) {
      this.#take()
      return [this.#branch(kind, next.at)]
    }
    this.#expect('close', '{{else}}')
    const { parts, ending } = this.#parts()
    if (ending !== 'end') throw this.#fail(`{{${kind}}} has no {{end}} after its {{else}}`, at)
    this.#expect('close', '{{end}}')
    return parts
  }

  #name(where: string): string {
    this.#skipSpace()
    const token = this.#take()
    const name = token.kind === 'string' ? unquote(token.text) : undefined
    if (name === undefined) throw this.#unexpected(token, `${where}: write its name in quotes`)
    return name
  }

  #template(at: number): Part {
    const name = this.#name('{{template}}')
    this.#calls.push({ name, at })
    if (this.#peekPastSpace().kind === 'close') {
      this.#take()
      return { kind: 'template', name, pipeline: undefined, at }
    }
    return { kind: 'template', name, pipeline: this.#pipeline('close', '{{template}}'), at }
  }

  /** A definition, and its use at the same place. */
  #block(at: number): Part {
    const name = this.#name('{{block}}')
    const pipeline = this.#pipeline('close', '{{block}}')
    this.#body(name, at, 'block')
    return { kind: 'template', name, pipeline, at }
  }

  #define({ at }: Token, allowed: boolean): void {
    if (!allowed || this.#inDefinition) throw this.#fail('{{define}} stands at the outermost level only', at)
    const name = this.#name('{{define}}')
    this.#expect('close', '{{define}}')
    this.#body(name, at, 'define')
  }

  /** The parts of a definition: variables of its surroundings are not seen in it, and `.` is what it is called with. */
  #body(name: string, at: number, keyword: string): void {
    const outer = {
      variables: this.#variables,
      rangeDepth: this.#rangeDepth,
      dotIsData: this.#dotIsData,
      inDefinition: this.#inDefinition,
    }
    this.#variables = ['$']
    this.#rangeDepth = 0
    this.#dotIsData = false
    this.#inDefinition = true
    this.#deepen(at)
    const { parts, ending } = this.#parts()
    if (ending !== 'end') throw this.#fail(`{{${keyword} ${JSON.stringify(name)}}} has no {{end}}`, at)
    this.#expect('close', '{{end}}')
    this.#depth -= 1
    this.#variables = outer.variables
    this.#rangeDepth = outer.rangeDepth
    this.#dotIsData = outer.dotIsData
    this.#inDefinition = outer.inDefinition
    const isEmpty = parts.every((part) => part.kind === 'text' && part.text.trim() === '')
    if (this.#defined.has(name) && !isEmpty && keyword === 'define') {
      throw this.#fail(`the template ${JSON.stringify(name)} is defined twice`, at)
    }
    if (!isEmpty || !this.#defined.has(name)) this.#defined.set(name, parts)
  }

  #pipeline(end: 'close' | ')', where: string): Pipeline {
    const at = this.#peekPastSpace().at
    const { variables, assigns } = this.#declarations(where)
    const commands: Command[] = []
    for (;;) {
      const token = this.#peekPastSpace()
      if (token.kind === end) {
        this.#take()
        break
      }
      if (!startsOperand(token)) throw this.#unexpected(token, where)
      commands.push(this.#command())
    }
    if (commands.length === 0) throw this.#fail(`there is no value in ${where}`, at)
    for (const [first] of commands.slice(1)) {
      if (CONSTANTS.has(first.kind)) throw this.#fail('what follows a | must be a function', first.at)
    }
    return { variables, assigns, commands, at }
  }

  /** `$x :=`, `$x =`, and in a range `$i, $x :=`. */
  #declarations(where: string): { variables: readonly string[]; assigns: boolean } {
    const variables: string[] = []
    const start = this.#next
    while (this.#peekPastSpace().kind === 'variable') {
      const variable = this.#take()
      const next = this.#peekPastSpace()
      if (next.kind === ',' && where === 'range' && variables.length === 0) {
        this.#take()
        variables.push(variable.text)
        if (this.#peekPastSpace().kind !== 'variable') throw this.#unexpected(this.#peek(), 'range: write $i, $x :=')
        continue
      }
      if (next.kind !== '=' && next.kind !== ':=') break
      this.#take()
      variables.push(variable.text)
      const assigns = next.kind === '='
      for (const name of variables) {
        if (assigns) this.#known(name, variable.at)
      }
      if (!assigns) this.#variables.push(...variables)
      return { variables, assigns }
    }
    if (variables.length > 0) throw this.#unexpected(this.#peek(), 'range: write $i, $x := range')
    this.#next = start
    return { variables: [], assigns: false }
  }

  #known(variable: string, at: number): void {
    if (this.#variables.includes(variable)) return
    throw this.#fail(`there is no variable ${variable}${advice(variable, this.#variables.slice(1))}`, at)
  }

  #command(): Command {
    const operands: Operand[] = []
    for (;;) {
      this.#skipSpace()
      const operand = this.#operand()
      if (operand !== undefined) operands.push(operand)
      const next = this.#take()
      if (next.kind === 'space') continue
      if (next.kind === '|') break
      this.#next -= 1
      if (next.kind === 'close' || next.kind === ')') break
      throw this.#unexpected(next, 'a command')
    }
    const [first, ...rest] = operands
    if (first === undefined) throw this.#fail('there is no value before the |', this.#at())
    return [first, ...rest]
  }

  #operand(): Operand | undefined {
    const of = this.#term()
    if (of === undefined) return undefined
    const path: string[] = []
    while (this.#peek().kind === 'field') path.push(this.#take().text.slice(1))
    if (path.length === 0) return of
    switch (of.kind) {
      case 'field':
        return { ...of, path: [...of.path, ...path] }
      case 'variable': {
        if (of.name === '$' && !this.#inDefinition) this.#data(path[0] ?? '', of.at)
        return { ...of, path: [...of.path, ...path] }
      }
      case 'constant':
      case 'dot':
      case 'nil':
        throw this.#fail('a constant has no fields', of.at)
      default:
        return { kind: 'chain', of, path, at: of.at }
    }
  }

  #term(): Operand | undefined {
    const { kind, text, at } = this.#peek()
    if (!startsOperand(this.#peek())) return undefined
    this.#take()
    switch (kind) {
      case 'identifier':
        if (this.#names.functions.includes(text)) return { kind: 'function', name: text, at }
        throw this.#fail(`there is no function ${text}${this.#meant(text)}`, at)
      case 'keyword':
        return { kind: 'nil', at }
      case 'dot':
        return { kind: 'dot', at }
      case 'variable':
        this.#known(text, at)
        return { kind: 'variable', name: text, path: [], at }
      case 'field':
        if (this.#dotIsData) this.#data(text.slice(1), at)
        return { kind: 'field', path: [text.slice(1)], at }
      case 'bool':
        return { kind: 'constant', value: text === 'true', at }
      case '(': {
        this.#deepen(at)
        const pipeline = this.#pipeline(')', 'parentheses')
        this.#depth -= 1
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
      if (value === undefined) throw this.#fail(`${text} is no number`, at)
      return value
    }
    const value = unquote(text)
    if (value === undefined)
      throw this.#fail(`${text} has an escape that is not known: \\n, \\t, \\" and \\u00e9 are`, at)
    if (kind === 'string') return value
    if (Array.from(value).length !== 1)
      throw this.#fail(`${text} is not one character: write a text in double quotes`, at)
    return BigInt(value.codePointAt(0) ?? 0)
  }

  /** A first field of the template's data. */
  #data(name: string, at: number): void {
    this.#used.add(name)
    const known = this.#names.variables
    if (known === undefined || known.includes(name)) return
    throw this.#fail(`there is no value .${name}${advice(name, known)}`, at)
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
