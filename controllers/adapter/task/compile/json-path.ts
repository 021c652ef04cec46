/**
 * JSONPath (RFC 9535) within limits: `match` and `search` by RE2, whose time is linear in the text whatever the pattern, and so many
 * values and so much time for one path. An expression or a template has the same time: lib/cel/limits.ts. ADAPTER-72.
 */
import { FunctionExpressionType, JSONPathEnvironment } from 'json-p3'
import { RE2JS } from 're2js'
import { TaskError } from '../../run/task-error.ts'

/** Of one path. */
export const PATH_LIMITS = { chars: 1_024, descents: 3, patternChars: 500, values: 10_000, timeMs: 5_000 } as const

/** Compiled patterns that are kept: a filter has the same one for each value. */
const MAX_PATTERNS = 100

/** @returns what finds the values. @throws Error for a path that can't be read or is too large */
export const compileJsonPath = (text: string): ((from: unknown) => readonly unknown[]) => {
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
  return (from) => {
    budget.start()
    const values: unknown[] = []
    for (const node of query.lazyQuery(from as Parameters<typeof query.lazyQuery>[0])) {
      budget.countValue()
      values.push(node.value)
    }
    return values
  }
}

class PathBudget {
  readonly #text: string
  readonly #patterns = new Map<string, RE2JS | undefined>()
  #values = 0
  #started = 0

  constructor(text: string) {
    this.#text = text
  }

  start(): void {
    this.#values = 0
    this.#started = performance.now()
  }

  countValue(): void {
    this.#values++
    if (this.#values > PATH_LIMITS.values) this.#exceeded(`finds more than ${PATH_LIMITS.values} values`)
    this.#checkTime()
  }

  /** False for what is no text or no pattern, as RFC 9535 has it. */
  matches(value: unknown, pattern: unknown, anchored: boolean): boolean {
    this.#checkTime()
    if (typeof value !== 'string' || typeof pattern !== 'string' || pattern.length > PATH_LIMITS.patternChars)
      return false
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

  #checkTime(): void {
    if (performance.now() - this.#started > PATH_LIMITS.timeMs)
      this.#exceeded(`takes longer than ${PATH_LIMITS.timeMs} ms`)
  }

  #exceeded(what: string): never {
    throw new TaskError('ExpressionFailed', `the path ${this.#text.slice(0, 80)} ${what}: look at less with it`)
  }
}
