import type { Compiler, LeafCompiler } from '../compile/compiler.ts'
import type { VariableNames } from '../compile/variable-names.ts'
import type { DocumentTemplate, Expression, FieldPath, Template } from '../task.ts'
import type { ProblemList } from '../task-problems.ts'

/** Somewhere in a task: its path for messages, and what is known there. */
export class FieldCursor {
  readonly path: string
  readonly names: VariableNames
  readonly #compiler: Compiler
  readonly #problems: ProblemList

  constructor(compiler: Compiler, problems: ProblemList, names: VariableNames, path = '') {
    this.#compiler = compiler
    this.#problems = problems
    this.names = names
    this.path = path
  }

  at(key: string): FieldCursor {
    return this.#to(this.path === '' ? key : `${this.path}.${key}`, this.names)
  }

  item(index: number): FieldCursor {
    return this.#to(`${this.path}[${index}]`, this.names)
  }

  /** Another place, where the same is known. */
  atPath(path: string): FieldCursor {
    return this.#to(path, this.names)
  }

  problem(message: string): void {
    this.#problems.add(this.path, message)
  }

  template(text: string): Template {
    return this.#compiler.template(this.path, text, this.names)
  }

  /** A part of a text whose whole is compiled too; undefined when it means nothing without the rest. */
  partOfTemplate(text: string): Template | undefined {
    return this.#compiler.part(text)
  }

  expression(text: string): Expression {
    return this.#compiler.expression(this.path, text, this.names)
  }

  /** An expression that gives true or false. */
  condition(text: string): Expression {
    return this.#compiler.expression(this.path, text, this.names, { condition: true })
  }

  /** `when: {expression}`. */
  when(raw: { readonly expression: string } | undefined): Expression | undefined {
    return raw === undefined ? undefined : this.at('expression').condition(raw.expression)
  }

  responseExpression(text: string): Expression {
    return this.#compiler.responseExpression(this.path, text, this.names)
  }

  fieldPath(text: string): FieldPath {
    return this.#compiler.path(this.path, text)
  }

  document(value: unknown, leaf?: LeafCompiler): DocumentTemplate {
    return this.#compiler.document(this.path, value, this.names, leaf)
  }

  #to(path: string, names: VariableNames): FieldCursor {
    return new FieldCursor(this.#compiler, this.#problems, names, path)
  }
}
