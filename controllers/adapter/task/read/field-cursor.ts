import type { Compiler, LeafReader } from '../compile/compiler.ts'
import type { Names } from '../compile/variable-names.ts'
import type { Expression, FieldPath, Template, Tree } from '../task.ts'
import type { Problems } from '../task-problems.ts'

/** Somewhere in a task: its path for messages, and what is known there. */
export class Place {
  readonly path: string
  readonly names: Names
  readonly #compiler: Compiler
  readonly #problems: Problems

  constructor(compiler: Compiler, problems: Problems, names: Names, path = '') {
    this.#compiler = compiler
    this.#problems = problems
    this.names = names
    this.path = path
  }

  at(key: string): Place {
    return this.#to(this.path === '' ? key : `${this.path}.${key}`, this.names)
  }

  item(index: number): Place {
    return this.#to(`${this.path}[${index}]`, this.names)
  }

  /** Another place, where the same is known. */
  elsewhere(path: string): Place {
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

  aboutAnswer(text: string): Expression {
    return this.#compiler.aboutAnswer(this.path, text, this.names)
  }

  fieldPath(text: string): FieldPath {
    return this.#compiler.path(this.path, text)
  }

  tree(value: unknown, leaf?: LeafReader): Tree {
    return this.#compiler.tree(this.path, value, this.names, leaf)
  }

  #to(path: string, names: Names): Place {
    return new Place(this.#compiler, this.#problems, names, path)
  }
}
