/**
 * JSONPath (RFC 9535) within limits: `match` and `search` by RE2, whose time is linear in the text whatever the pattern, and so many
 * values and steps for one path, which count for its run too (ADAPTER-84). ADAPTER-72.
 */
import { FunctionExpressionType, JSONPathEnvironment } from 'json-p3'
import { RE2JS } from 're2js'
import type { Spend } from '../../run/run-budget.ts'
import { TaskError } from '../../run/task-error.ts'

/** Of one path. A step is one of lib/cel/limits.ts. */
export const PATH_LIMITS = { chars: 1_024, descents: 3, patternChars: 500, values: 10_000, steps: 2_000_000 } as const

/** Compiled patterns that are kept: a filter has the same one for each value. */
const MAX_PATTERNS = 100

/** Steps of one selector at one node. */
const SELECTOR_STEPS = 10

/** Steps of a comparison: so that the clock is looked at now and then. */
const COMPARISON_STEPS = 100

/** Characters of a text that a pattern reads in about the time of one step. */
const CHARACTERS_A_STEP = 16

/** Finds the values. @param spend is told what it takes; what that throws ends it */
export type JsonPath = (from: unknown, spend?: Spend) => readonly unknown[]

/** @throws Error for a path that can't be read or is too large */
export const compileJsonPath = (text: string): JsonPath => {
  if (text.length > PATH_LIMITS.chars) throw new Error(`it is longer than ${PATH_LIMITS.chars} characters`)
  if (text.split('..').length - 1 > PATH_LIMITS.descents) throw new Error(`it has more than ${PATH_LIMITS.descents} ..`)
  const budget = new PathBudget(text)
  const environment = new JSONPathEnvironment()
  for (const [name, anchored] of [
    ['match', true],
    ['search', false],
  ] as const)
    environment.functionRegister.set(name, {
      argTypes: [FunctionExpressionType.ValueType, FunctionExpressionType.ValueType],
      returnType: FunctionExpressionType.LogicalType,
      call: (value: unknown, pattern: unknown) => budget.matches(value, pattern, anchored),
    })
  const query = environment.compile(text)
  meterQuery(query, budget)
  return (from, spend = () => undefined) => {
    budget.start(spend)
    const values: unknown[] = []
    for (const node of query.lazyQuery(from as Parameters<typeof query.lazyQuery>[0])) {
      budget.countValue()
      values.push(node.value)
    }
    return values
  }
}

interface Selector {
  resolve(node: { readonly value: unknown }): unknown
}

/** Of a filter, that compares what two paths find: whole documents, perhaps. */
interface Comparison {
  readonly left: object
  readonly right: object
  evaluate(context: unknown): unknown
}

const isComparison = (part: object): part is Comparison => {
  const { left, right } = part as Partial<Comparison>
  return left !== undefined && 'path' in left && right !== undefined && 'path' in right
}

/** The library tells nothing while it searches: each selector of the path, and of the paths in its filters, counts what it looks at. */
const meterQuery = (query: object, budget: PathBudget): void => {
  const seen = new Set<object>()
  const visit = (part: object): void => {
    if (seen.has(part)) return
    seen.add(part)
    if (isComparison(part)) {
      const evaluate = part.evaluate.bind(part)
      part.evaluate = (context) => {
        budget.charge(COMPARISON_STEPS)
        return evaluate(context)
      }
    }
    for (const [key, inner] of Object.entries(part)) {
      if (key === 'environment' || key === 'token' || typeof inner !== 'object' || inner === null) continue
      if (key === 'selectors') for (const selector of inner as Selector[]) meter(selector)
      visit(inner)
    }
  }
  const meter = (selector: Selector) => {
    const resolve = selector.resolve.bind(selector)
    // A name and an index look at one child, others at all.
    const looksAtOne = 'name' in selector || 'index' in selector
    selector.resolve = (node) => {
      budget.charge(SELECTOR_STEPS + (looksAtOne ? 0 : childrenOf(node.value)))
      return resolve(node)
    }
  }
  visit(query)
}

const childrenOf = (value: unknown): number => {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

class PathBudget {
  readonly #text: string
  readonly #patterns = new Map<string, RE2JS | undefined>()
  #values = 0
  #steps = 0
  #spend: Spend = () => undefined

  constructor(text: string) {
    this.#text = text
  }

  start(spend: Spend): void {
    this.#values = 0
    this.#steps = 0
    this.#spend = spend
  }

  countValue(): void {
    this.#values++
    if (this.#values > PATH_LIMITS.values) this.#exceeded(`finds more than ${PATH_LIMITS.values} values`)
  }

  /** False for what is no text or no pattern, as RFC 9535 has it. */
  matches(value: unknown, pattern: unknown, anchored: boolean): boolean {
    if (typeof value !== 'string' || typeof pattern !== 'string' || pattern.length > PATH_LIMITS.patternChars)
      return false
    this.charge(SELECTOR_STEPS + value.length / CHARACTERS_A_STEP)
    return this.#compiled(anchored ? `^(?:${pattern})$` : pattern)?.test(value) ?? false
  }

  #compiled(text: string): RE2JS | undefined {
    if (this.#patterns.has(text)) return this.#patterns.get(text)
    if (this.#patterns.size >= MAX_PATTERNS) this.#patterns.clear()
    let pattern: RE2JS | undefined
    try {
      pattern = RE2JS.compile(text)
    } catch {
      pattern = undefined
    }
    this.#patterns.set(text, pattern)
    return pattern
  }

  /** @throws TaskError, and whatever `spend` throws */
  charge(steps: number): void {
    this.#steps += steps
    this.#spend(steps, 0)
    if (this.#steps > PATH_LIMITS.steps) this.#exceeded(`takes more than ${PATH_LIMITS.steps} steps`)
  }

  #exceeded(what: string): never {
    throw new TaskError('ExpressionFailed', `the path ${this.#text.slice(0, 80)} ${what}: look at less with it`)
  }
}
