/** Compiles the texts of a task: expressions, templates, paths, and documents made of templates. */
import { CelError, type Environment, toJson } from '#lib/cel/index.ts'
import { budgetOf, type Spend } from '../../run/run-budget.ts'
import { TaskError } from '../../run/task-error.ts'
import type { DocumentTemplate, Expression, FieldPath, Json, Scope, Template } from '../task.ts'
import type { ProblemList } from '../task-problems.ts'
import { FieldPathError, parseFieldPath } from './field-path.ts'
import { isVariable, type VariableNames } from './variable-names.ts'

/** A template engine, as much of it as tasks need. */
export interface Templates {
  /** @throws Error whose message says what to write */
  compile(text: string): { readonly variables: readonly string[]; render(scope: Scope, spend: Spend): string }
}

export interface Languages {
  readonly templates: Templates
  /** The environment of expressions that know these variables. */
  expressions(names: readonly string[]): Environment
}

/** Words of an expression that may be variables: those of an answer are not known before it comes. */
const WORD = /[A-Za-z_][A-Za-z0-9_]*/g

export class Compiler {
  readonly #languages: Languages
  readonly #problems: ProblemList
  /** Every name that the whole task gives, to tell a late one from an unknown one. */
  readonly #all: VariableNames
  readonly #environment: Environment

  constructor(languages: Languages, problems: ProblemList, all: VariableNames) {
    this.#languages = languages
    this.#problems = problems
    this.#all = all
    this.#environment = this.#environmentFor(all.all)
  }

  /** @param options.condition it must give true or false */
  expression(
    path: string,
    text: string,
    names: VariableNames,
    options: { readonly condition?: boolean } = {},
  ): Expression {
    return this.#compile(path, text, this.#environment, names, options.condition === true)
  }

  /** An expression about an answer, whose fields are variables: any name may be one. */
  responseExpression(path: string, text: string, names: VariableNames): Expression {
    const words = [...text.matchAll(WORD)].map(([word]) => word)
    return this.#compile(path, text, this.#environmentFor([...new Set([...names.all, ...words])]), undefined, false)
  }

  template(path: string, text: string, names: VariableNames): Template {
    try {
      const { variables, render } = this.#languages.templates.compile(text)
      for (const name of variables) if (!names.has(name)) this.#problems.add(path, names.hint(name, this.#all))
      return { text, variables, render: (scope) => renderOrFail(path, text, scope, (spend) => render(scope, spend)) }
    } catch (error) {
      this.#problems.add(path, error instanceof Error ? error.message : String(error))
      return { text, variables: [], render: () => text }
    }
  }

  /** A part of a text whose whole is compiled too; undefined when it means nothing without the rest. */
  part(text: string): Template | undefined {
    try {
      const { variables, render } = this.#languages.templates.compile(text)
      return { text, variables, render: (scope) => renderOrFail(text, text, scope, (spend) => render(scope, spend)) }
    } catch {
      return undefined
    }
  }

  path(path: string, text: string): FieldPath {
    try {
      return parseFieldPath(text, path)
    } catch (error) {
      if (!(error instanceof FieldPathError)) throw error
      this.#problems.add(path, error.message)
      return { text, take: () => undefined }
    }
  }

  /** A document; `leaf` may give meaning to an object inside it, and undefined to build it as it is. */
  document(path: string, value: unknown, names: VariableNames, leaf: LeafCompiler = () => undefined): DocumentTemplate {
    if (typeof value === 'string') {
      if (!value.includes('{{')) return { build: () => value }
      const template = this.template(path, value, names)
      return { build: (scope) => template.render(scope) }
    }
    if (Array.isArray(value)) {
      const items = value.map((item, at) => this.document(`${path}[${at}]`, item, names, leaf))
      return { build: (scope) => items.map((item) => item.build(scope)) }
    }
    if (typeof value !== 'object' || value === null) return { build: () => (value ?? null) as Json }
    const special = leaf(path, value as Readonly<Record<string, unknown>>)
    if (special !== undefined) return special
    const entries = Object.entries(value).map(
      ([key, inner]) =>
        [this.document(`${path}.${key}`, key, names), this.document(`${path}.${key}`, inner, names, leaf)] as const,
    )
    return {
      build: (scope) => Object.fromEntries(entries.map(([key, inner]) => [key.build(scope), inner.build(scope)])),
    }
  }

  /** Names that can be no variables are problems of the place that gives them. */
  #environmentFor(names: readonly string[]): Environment {
    return this.#languages.expressions(names.filter(isVariable))
  }

  #compile(
    path: string,
    text: string,
    where: Environment,
    names: VariableNames | undefined,
    isCondition: boolean,
  ): Expression {
    try {
      const program = where.compile(text, isCondition ? { result: 'bool' } : {})
      for (const name of names === undefined ? [] : program.variables)
        if (names?.has(name) === false) this.#problems.add(path, names.hint(name, this.#all))
      return {
        text,
        variables: [...program.variables],
        evaluate: (scope) => evaluateOrFail(path, text, scope, (spend) => program.evaluate(scope, spend)),
      }
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      this.#problems.add(path, error.message)
      return { text, variables: [], evaluate: () => null }
    }
  }
}

/** Gives an object inside a document its meaning; undefined when it has none of its own. */
export type LeafCompiler = (path: string, object: Readonly<Record<string, unknown>>) => DocumentTemplate | undefined

const evaluateOrFail = (field: string, text: string, scope: Scope, evaluate: (spend: Spend) => unknown): Json => {
  try {
    return budgetOf(scope).evaluate(field, (spend) => toJson(evaluate(spend)))
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    throw new TaskError('ExpressionFailed', `the expression ${truncate(text)} has no value: ${error.message}`, {
      cause: error,
    })
  }
}

/** Steps of CEL that take about the time of one of a template. */
const TEMPLATE_STEP = 10

const renderOrFail = (field: string, text: string, scope: Scope, render: (spend: Spend) => string): string => {
  try {
    return budgetOf(scope).evaluate(field, (spend) => render((steps, chars) => spend(steps * TEMPLATE_STEP, chars)))
  } catch (error) {
    if (error instanceof TaskError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new TaskError('TemplateFailed', `the template ${truncate(text)} can't be rendered: ${why}`, { cause: error })
  }
}

const MAX_QUOTED_CHARS = 80

const truncate = (text: string): string => {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return line.length > MAX_QUOTED_CHARS ? `${line.slice(0, MAX_QUOTED_CHARS)}…` : line
}
