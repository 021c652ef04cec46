/** Go's text/template, second step: tokens into a tree. Unknown names are found here, before anything is rendered. */
import { advice, ExpressionParser, type Names } from './expression-parser.ts'
import { unquote } from './literal.ts'
import type { Token } from './tokens.ts'
import type { Branch, Part, Tree } from './tree.ts'

/** @throws TemplateSyntaxError */
export const parse = (text: string, names: Names): Tree => new TemplateParser(text, names).tree()

/** How a list of parts ended. */
type Ending = 'end' | 'else' | 'text'

/** Texts, actions, branches and definitions. */
class TemplateParser extends ExpressionParser {
  #rangeDepth = 0
  readonly #defined = new Map<string, readonly Part[]>()
  readonly #calls: { readonly name: string; readonly at: number }[] = []

  tree(): Tree {
    const { parts, ending } = this.#parts(true)
    if (ending !== 'text') throw this.fail(`{{${ending}}} closes nothing`, this.at())
    for (const { name, at } of this.#calls) {
      if (this.#defined.has(name)) continue
      throw this.fail(`there is no template ${JSON.stringify(name)}${advice(name, [...this.#defined.keys()])}`, at)
    }
    return { main: parts, defined: this.#defined, names: this.used }
  }

  /** Parts up to `{{end}}`, `{{else}}` or the end of the text; the `else` or `end` is taken, not what follows it. */
  #parts(outermost = false): { parts: Part[]; ending: Ending } {
    const parts: Part[] = []
    for (;;) {
      const token = this.take()
      if (token.kind === 'text') {
        parts.push({ kind: 'text', text: token.text, at: token.at })
        continue
      }
      if (token.kind === 'end') return { parts, ending: 'text' }
      const first = this.peekPastSpace()
      if (first.kind !== 'keyword' || first.text === 'nil') {
        parts.push({ kind: 'action', pipeline: this.pipeline('close', 'an action'), at: token.at })
        continue
      }
      this.take()
      if (first.text === 'end' || first.text === 'else') return { parts, ending: first.text }
      if (first.text === 'define') this.#define(first, outermost && this.depth === 0)
      else parts.push(this.#control(first))
    }
  }

  #control(keyword: Token): Part {
    switch (keyword.text) {
      case 'if':
      case 'with':
      case 'range':
        return this.#branch(keyword.text, keyword.at)
      case 'break':
      case 'continue':
        this.expect('close', `{{${keyword.text}}}`)
        if (this.#rangeDepth === 0) throw this.fail(`{{${keyword.text}}} stands outside of a range`, keyword.at)
        return { kind: keyword.text, at: keyword.at }
      case 'template':
        return this.#template(keyword.at)
      case 'block':
        return this.#block(keyword.at)
      default:
        throw this.unexpected(keyword, 'an action')
    }
  }

  #branch(kind: Branch['kind'], at: number): Branch {
    this.deepen(at)
    const variables = this.variables.length
    const dotIsData = this.dotIsData
    const pipeline = this.pipeline('close', kind)
    if (kind === 'range') this.#rangeDepth += 1
    if (kind !== 'if') this.dotIsData = false
    const body = this.#parts()
    if (kind === 'range') this.#rangeDepth -= 1
    this.dotIsData = dotIsData
    const otherwise = body.ending === 'else' ? this.#otherwise(kind, at) : []
    if (body.ending === 'text') throw this.fail(`{{${kind}}} has no {{end}}`, at)
    if (body.ending === 'end') this.expect('close', '{{end}}')
    this.variables.length = variables
    this.depth -= 1
    return { kind, pipeline, body: body.parts, otherwise, at }
  }

  /** What follows `else`: `else if …` and `else with …` are branches of their own, which end together with this one. */
  #otherwise(kind: Branch['kind'], at: number): Part[] {
    const next = this.peekPastSpace()
    if (next.kind === 'keyword' && next.text === kind && (kind === 'if' || kind === 'with')) {
      this.take()
      return [this.#branch(kind, next.at)]
    }
    this.expect('close', '{{else}}')
    const { parts, ending } = this.#parts()
    if (ending !== 'end') throw this.fail(`{{${kind}}} has no {{end}} after its {{else}}`, at)
    this.expect('close', '{{end}}')
    return parts
  }

  #name(where: string): string {
    this.skipSpace()
    const token = this.take()
    const name = token.kind === 'string' ? unquote(token.text) : undefined
    if (name === undefined) throw this.unexpected(token, `${where}: write its name in quotes`)
    return name
  }

  #template(at: number): Part {
    const name = this.#name('{{template}}')
    this.#calls.push({ name, at })
    if (this.peekPastSpace().kind === 'close') {
      this.take()
      return { kind: 'template', name, pipeline: undefined, at }
    }
    return { kind: 'template', name, pipeline: this.pipeline('close', '{{template}}'), at }
  }

  /** A definition, and its use at the same place. */
  #block(at: number): Part {
    const name = this.#name('{{block}}')
    const pipeline = this.pipeline('close', '{{block}}')
    this.#body(name, at, 'block')
    return { kind: 'template', name, pipeline, at }
  }

  #define({ at }: Token, allowed: boolean): void {
    if (!allowed || this.inDefinition) throw this.fail('{{define}} stands at the outermost level only', at)
    const name = this.#name('{{define}}')
    this.expect('close', '{{define}}')
    this.#body(name, at, 'define')
  }

  /** The parts of a definition: variables of its surroundings are not seen in it, and `.` is what it is called with. */
  #body(name: string, at: number, keyword: string): void {
    const outer = {
      variables: this.variables,
      rangeDepth: this.#rangeDepth,
      dotIsData: this.dotIsData,
      inDefinition: this.inDefinition,
    }
    this.variables = ['$']
    this.#rangeDepth = 0
    this.dotIsData = false
    this.inDefinition = true
    this.deepen(at)
    const { parts, ending } = this.#parts()
    if (ending !== 'end') throw this.fail(`{{${keyword} ${JSON.stringify(name)}}} has no {{end}}`, at)
    this.expect('close', '{{end}}')
    this.depth -= 1
    this.variables = outer.variables
    this.#rangeDepth = outer.rangeDepth
    this.dotIsData = outer.dotIsData
    this.inDefinition = outer.inDefinition
    const isEmpty = parts.every((part) => part.kind === 'text' && part.text.trim() === '')
    if (this.#defined.has(name) && !isEmpty && keyword === 'define') {
      throw this.fail(`the template ${JSON.stringify(name)} is defined twice`, at)
    }
    if (!isEmpty || !this.#defined.has(name)) this.#defined.set(name, parts)
  }
}
