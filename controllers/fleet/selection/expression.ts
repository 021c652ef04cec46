/** `targetExpression`: CEL that says of a device whether it is meant. Bounded, so that no expression holds up the fleet. Pure. */

import { CelCompileError, CelEvaluationError, environment } from '#lib/cel/index.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Labels } from '#operator/model/selector.ts'
import { FLEET_ERRORS } from '../errors.ts'

/** What expressions and templates see of a device, as `device`. */
export interface DeviceFacts {
  readonly name: string
  readonly labels: Labels
  readonly inventory: Readonly<Record<string, string>>
}

/** Steps of one evaluation: ten thousand devices at this price take a second. */
const MAX_STEPS = 1_000
/** Milliseconds: the wall behind the steps. A device whose evaluation reaches it is neither added nor removed. */
const TIMEOUT_MS = 100

/** An expression that can't be read: what is wrong, and what to write instead. */
export class ExpressionError extends errorOf(FLEET_ERRORS, 'ExpressionError') {
  constructor(cause: CelCompileError) {
    super(`spec.targetExpression: ${cause.message}`, { cause })
  }
}

/** True, false, or why it can't be said. */
export type Answer = boolean | { readonly problem: string }

const { compile } = environment({
  variables: { device: 'map<string, dyn>' },
  limits: { steps: MAX_STEPS, time: TIMEOUT_MS, expression: 2_048 },
})

/** @throws ExpressionError */
export const compileExpression = (text: string): ((device: DeviceFacts) => Answer) => {
  const program = (() => {
    try {
      return compile(text, { result: 'bool' })
    } catch (error) {
      throw error instanceof CelCompileError ? new ExpressionError(error) : error
    }
  })()
  return ({ name, labels, inventory }) => {
    try {
      const answer = program.evaluate({ device: { name, labels, inventory } })
      return typeof answer === 'boolean' ? answer : { problem: 'it gives no truth value: compare it with something' }
    } catch (error) {
      if (error instanceof CelEvaluationError) return { problem: error.message }
      throw error
    }
  }
}
