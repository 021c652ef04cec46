/** What can be wrong with an expression: three classes, by when it shows and where it is corrected. */

import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'

/** Where in the expression, counted from 1 as editors do. */
export interface Place {
  readonly line: number
  readonly column: number
}

const LONGEST_QUOTE = 60

/** The line of the expression that the place is in, shortened around it. */
const quote = (expression: string, { line, column }: Place): string => {
  const text = expression.split('\n')[line - 1] ?? ''
  if (text.length <= LONGEST_QUOTE) return text
  const start = Math.max(0, Math.min(column - 1 - LONGEST_QUOTE / 2, text.length - LONGEST_QUOTE))
  const end = start + LONGEST_QUOTE
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
}

export interface CelProblem {
  /** CamelCase and stable, for conditions and tests: `NoSuchKey`, `UnknownVariable`. */
  readonly reason: string
  /** One sentence: what is wrong, and what to write instead where that is known. */
  readonly summary: string
  readonly expression: string
  readonly place?: Place | undefined
}

/** The common part; never thrown by itself. */
export abstract class CelError extends errorOf(LIB_ERRORS, 'CelEvaluationError') {
  readonly reason: string
  readonly summary: string
  readonly place: Place | undefined
  constructor({ reason, summary, expression, place }: CelProblem, options?: ErrorOptions) {
    const where = place && ` at line ${place.line}, column ${place.column}: ${quote(expression, place)}`
    super(`${summary}${where ?? ''}`, options)
    this.reason = reason
    this.summary = summary
    this.place = place
  }
}

/** The text is no valid expression of its environment: syntax, an unknown name, types that do not fit. Found before it runs. */
export class CelCompileError extends CelError {
  override readonly name = 'CelCompileError'
}

/** A valid expression that has no value for these inputs: a missing key, a division by zero. Never the same as `false`. */
export class CelEvaluationError extends CelError {
  override readonly name: string = 'CelEvaluationError'
}

/** The expression was stopped because it, its inputs or its result went beyond a limit. */
export class CelLimitError extends CelEvaluationError {
  override readonly name = 'CelLimitError'
}
