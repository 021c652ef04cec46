/** A CEL engine: declare what expressions may use, compile them once, evaluate them often. */
import { EvaluationError, Environment as Library } from '@marcbachmann/cel-js'
import { compileError, evaluationFailure, type Names, orCompileError } from './diagnose.ts'
import { CelCompileError } from './errors.ts'
import {
  addEqualityOfOptionals,
  addListMacros,
  addNamespaces,
  addOptionalMacros,
  addOrderOfBytes,
} from './extensions.ts'
import { type CelFunction, calledAs } from './functions/function.ts'
import { meteredFunctions } from './functions/lists.ts'
import { standardFunctions } from './functions/standard.ts'
import { isDuration, isTimestamp } from './functions/times.ts'
import { children, type Evaluator, evaluationError, evaluatorOf, type Node, rootOf } from './library.ts'
import { DEFAULT_LIMITS, type Limits, Meter, type Spend } from './limits.ts'
import { callKey, finish, ownName, prepare, publicText } from './rewrite.ts'
import { toLibrary, toPublic } from './type-names.ts'
import { Duration, fromCel, isInt64, toCel } from './values.ts'

/**
 * A type as CEL writes it: `dyn` (anything, such as JSON), `string`, `int`, `double`, `bool`, `bytes`, `timestamp`,
 * `duration`, `list<string>`, `map<string, dyn>`, `optional<int>`.
 */
export type CelType = string

export interface EnvironmentOptions {
  /** Name → type of the variables that expressions may use; any other name is an error when an expression is compiled. */
  readonly variables?: Readonly<Record<string, CelType>>
  /** Beyond the standard ones (`standardFunctions`). */
  readonly functions?: readonly CelFunction[]
  readonly limits?: Partial<Limits>
  /**
   * Whether `has(a.b)` and `a.?b` see an entry that is null as absent: many writers of JSON don't tell them apart. `a.b` gives
   * null either way.
   */
  readonly nullIsAbsent?: boolean
  /** Milliseconds of a monotonic clock, for the limit `time`. */
  readonly monotonic?: () => number
}

export interface CompileOptions {
  /** The type that the result must have; an expression whose type is only known when it runs is checked then. */
  readonly result?: CelType
}

export interface Environment {
  /** @throws CelCompileError */
  compile(expression: string, options?: CompileOptions): Program
}

/** A compiled expression; it can be evaluated any number of times. */
export interface Program {
  readonly expression: string
  /** What the check found the result to be, `dyn` when only running it tells. */
  readonly type: CelType
  /** The declared variables that the expression uses. */
  readonly variables: readonly string[]
  /**
   * The value as JavaScript knows it: see values.ts for the forms.
   * @param values by variable name; a variable that is used but not bindings is an error
   * @param spend is told what the evaluation uses, while it goes on; what it throws ends it
   * @throws CelEvaluationError, CelLimitError
   */
  evaluate(values?: Readonly<Record<string, unknown>>, spend?: Spend): unknown
}

/** Syntax nodes of an expression: more than any limit on its characters lets honest ones have. */
const MAX_NODES = 5_000

/** @throws CelCompileError for a variable's name that CEL has another meaning for */
export const environment = (options: EnvironmentOptions = {}): Environment => {
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nullIsAbsent = options.nullIsAbsent ?? false
  const monotonic = options.monotonic ?? (() => performance.now())
  const variables = options.variables ?? {}

  const library = new Library({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: MAX_NODES, maxListElements: MAX_NODES, maxMapEntries: MAX_NODES },
  })
  addNamespaces(library)
  addOptionalMacros(library)
  addListMacros(library)
  addOrderOfBytes(library)
  addEqualityOfOptionals(library)
  for (const name of Object.keys(variables)) refuseTaken(library, name)
  for (const [name, type] of Object.entries(variables)) library.registerVariable(name, toLibrary(type))

  let meter: Meter | undefined
  const running = (): Meter => {
    if (meter === undefined) throw new Error('a CEL node was evaluated outside of Program.evaluate')
    return meter
  }

  const functions = [...standardFunctions, ...meteredFunctions(running), ...(options.functions ?? [])]
  const ownCalls = new Set<string>()
  for (const { signature, call, cost } of functions) {
    const { name, receiver, parameters } = calledAs(signature)
    ownCalls.add(callKey(name, receiver, parameters))
    const run = call as (...args: unknown[]) => unknown
    const price = cost as ((...args: unknown[]) => number) | undefined
    const handler =
      price === undefined
        ? run
        : (...args: unknown[]) => {
            running().charge(price(...args))
            return run(...args)
          }
    library.registerFunction(toLibrary(signature.replace(`${name}(`, `${ownName(name)}(`)), handler, { async: false })
  }
  measured(evaluatorOf(library), running)
  const names: Names = {
    variables: Object.keys(variables),
    functions: [...new Set([...library.getDefinitions().functions.map(({ name }) => publicText(name)), 'has'])],
  }

  const compile = (expression: string, { result }: CompileOptions = {}): Program => {
    if (expression.length > limits.expression) {
      throw new CelCompileError({
        reason: 'TooLong',
        summary: `the expression has ${expression.length} characters, more than ${limits.expression}: part it`,
        expression: '',
      })
    }
    const parsed = orCompileError(expression, () => library.parse(expression))
    const root = rootOf(parsed)
    const used = orCompileError(expression, () => {
      const seen = new Set<string>()
      collectNames(root, seen)
      prepare(root, ownCalls, nullIsAbsent)
      return Object.keys(variables).filter((name) => seen.has(name))
    })
    const checked = orCompileError(expression, () => parsed.check())
    if (checked.error !== undefined) throw compileError(expression, checked.error, names)
    const type = toPublic(checked.type ?? 'dyn')
    if (result !== undefined && type !== result && type !== 'dyn') {
      throw new CelCompileError({
        reason: 'WrongResult',
        summary: `the expression gives ${type}, but ${result} is needed here`,
        expression,
      })
    }
    finish(root, nullIsAbsent, running)

    return {
      expression,
      type,
      variables: used,
      evaluate(values = {}, spend) {
        const outer = meter
        const own = new Meter(limits, monotonic, spend)
        meter = own
        try {
          const bindings: Record<string, unknown> = Object.create(null)
          for (const name of used) {
            if (Object.hasOwn(values, name)) bindings[name] = toCel(values[name], own, name)
          }
          return fromCel(accepted(parsed(bindings), own), limits, own)
        } catch (error) {
          throw evaluationFailure(expression, error)
        } finally {
          meter = outer
        }
      },
    }
  }
  return { compile }
}

/** Names that are words or name spaces of CEL can't be variables. @throws CelCompileError */
const refuseTaken = (library: Library, name: string): void => {
  const isName = (() => {
    try {
      return rootOf(library.parse(name)).op === 'id'
    } catch {
      return false
    }
  })()
  if (isName && !library.hasVariable(name)) return
  const summary = `${JSON.stringify(name)} can't be a variable, CEL has another meaning for it: choose another name`
  throw new CelCompileError({ reason: 'TakenName', summary, expression: name })
}

/** A value that a node came to, when it is within its limits. */
const accepted = (value: unknown, meter: Meter): unknown => {
  if (typeof value === 'bigint') {
    if (!isInt64(value)) throw evaluationError('numeric_overflow', 'integer overflow')
  } else if (typeof value === 'object') {
    if (value instanceof Date ? !isTimestamp(value) : value instanceof Duration && !isDuration(value)) {
      throw evaluationError('time_overflow', `the ${value instanceof Date ? 'timestamp' : 'duration'} is out of range`)
    }
    meter.weigh(value)
  } else meter.weigh(value)
  return value
}

/** Makes an evaluator count what it does, and stop at the limits whatever the expression makes of errors. */
const measured = (evaluator: Evaluator, running: () => Meter): void => {
  evaluator.run = (node, scope) => {
    const meter = running()
    meter.charge(1)
    const value = accepted(node.evaluate(evaluator, node, scope), meter)
    // The library copies both lists.
    if (node.op === '+' && Array.isArray(value)) meter.charge(value.length / 2)
    return value
  }
  // The library's own catches everything, and takes what it caught for a value of the expression.
  evaluator.tryEval = (node, scope) => {
    try {
      return evaluator.run(node, scope)
    } catch (error) {
      if (error instanceof EvaluationError) return error
      throw error
    }
  }
}

const collectNames = (root: Node, seen: Set<string>): void => {
  if (root.op === 'id' && typeof root.args === 'string') seen.add(root.args)
  for (const child of children(root)) collectNames(child, seen)
}
