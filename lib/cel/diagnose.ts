/** What the library throws, as errors with a reason, a sentence and a place. */
import { EvaluationError, TypeError as LibraryTypeError, ParseError } from '@marcbachmann/cel-js'
import { nearest } from '../text/nearest.ts'
import { CelCompileError, CelEvaluationError, CelLimitError, type CelProblem, type Place } from './errors.ts'
import { LimitReached } from './limits.ts'
import { toPublic } from './type-names.ts'
import { ValueError } from './values.ts'

const placeOf = (expression: string, start: number | undefined): Place | undefined => {
  if (start === undefined) return undefined
  const before = expression.slice(0, start).split('\n')
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}

/** `no_such_key` → `NoSuchKey`. */
const reasonOf = (code: string): string => code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

const problem = (expression: string, error: ParseError | LibraryTypeError | EvaluationError): CelProblem => ({
  reason: reasonOf(error.code),
  summary: toPublic(error.summary),
  expression,
  place: placeOf(expression, error.range?.start),
})

const isStackOverflow = (error: unknown): boolean => error instanceof RangeError && error.message.includes('call stack')

/** How deep the stack is depends on the process: the library counts the parts of what it could still descend into. */
const hasTooManyParts = (error: unknown): boolean =>
  isStackOverflow(error) || (error instanceof ParseError && /^Exceeded max(AstNodes|Depth)\b/.test(error.summary))

/** @throws CelCompileError for what the library throws */
export const orCompileError = <T>(expression: string, step: () => T): T => {
  try {
    return step()
  } catch (error) {
    throw compileError(expression, error)
  }
}

/** The error of a compilation for what the library found, or the error itself when it is none of an expression. */
export const compileError = (expression: string, error: unknown, names?: Names): unknown => {
  if (hasTooManyParts(error)) {
    return new CelCompileError(
      { reason: 'TooDeep', summary: 'the expression has too many parts inside each other: part it', expression },
      { cause: error },
    )
  }
  if (!(error instanceof ParseError || error instanceof LibraryTypeError || error instanceof EvaluationError))
    return error
  const found = problem(expression, error)
  return new CelCompileError(names === undefined ? found : advised(found, names), { cause: error })
}

/** What an expression may name. */
export interface Names {
  readonly variables: readonly string[]
  readonly functions: readonly string[]
}

/** Unknown names, with the known one that was probably meant. */
const advised = (found: CelProblem, { variables, functions }: Names): CelProblem => {
  const variable = /^Unknown variable: (\w+)$/.exec(found.summary)?.[1]
  if (variable !== undefined) {
    const near = nearest(variable, variables)
    const choice = near === undefined ? `there are ${variables.join(', ') || 'none'}` : `did you mean ${near}?`
    return { ...found, summary: `there is no variable ${variable}: ${choice}` }
  }
  const called = /^found no matching overload for '(?:.*\.)?(\w+)\(/.exec(found.summary)?.[1]
  if (called === undefined || functions.includes(called)) return found
  const near = nearest(called, functions)
  return {
    ...found,
    reason: 'UnknownFunction',
    summary: `there is no function ${called}${near === undefined ? '' : `: did you mean ${near}?`}`,
  }
}

/** The same for an evaluation. */
export const evaluationFailure = (expression: string, error: unknown): unknown => {
  if (error instanceof LimitReached) {
    return new CelLimitError(
      { reason: `Limit${reasonOf(error.limit)}`, summary: error.message, expression },
      { cause: error },
    )
  }
  if (isStackOverflow(error)) {
    const summary = 'the evaluation has too many parts inside each other: part the expression'
    return new CelLimitError({ reason: 'LimitDepth', summary, expression }, { cause: error })
  }
  if (error instanceof ValueError) {
    return new CelEvaluationError({ reason: 'InvalidInput', summary: error.message, expression }, { cause: error })
  }
  if (error instanceof EvaluationError) return new CelEvaluationError(problem(expression, error), { cause: error })
  return error
}
