/** Phase 2: whether the run goes on to the resources. An expression that has no value fails the run; it is never taken for false. */

import { isObject } from '#lib/json/is-object.ts'
import type { Json, JsonObject, Precondition, Scope } from '../../task/task.ts'
import { absenceOf, NothingToDoError } from '../api-reader.ts'
import { logStep } from '../log-step.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { mayDefault, TaskError } from '../task-error.ts'
import { explainUnmet } from './condition-operators.ts'

/** Checks them in order until one is not met or fails. @throws NothingToDoError, or the signal's reason */
export const checkPreconditions = async (state: RunState, context: RunContext): Promise<void> => {
  for (const precondition of state.task.preconditions) {
    await state.budget.giveTurn()
    const { name } = precondition
    try {
      const captured = await capture(precondition, state, context)
      const problem = findUnmet(precondition, state.scope)
      logStep(precondition.log, state.scope, { redactor: state.redactor, log: context.log })
      state.preconditions.push({
        name,
        met: problem === undefined,
        ...(problem !== undefined && { message: problem }),
        ...(Object.keys(captured).length > 0 && { captured }),
      })
      if (problem === undefined) continue
      state.skipReason = `precondition '${name}' not met: ${problem}`
      return
    } catch (error) {
      if (context.api.isResourceGone(error))
        throw new NothingToDoError(`precondition '${name}': ${error.message}`, absenceOf(error), { cause: error })
      state.fail('preconditions', name, error)
      const message = error instanceof Error ? error.message : String(error)
      state.preconditions.push({ name, met: false, message })
      state.skipReason = message
      return
    }
  }
}

/** Asks, and takes out of the answer what is wanted of it. @throws TaskError */
const capture = async (
  { name, call, captures }: Precondition,
  state: RunState,
  { api, signal }: RunContext,
): Promise<Readonly<Record<string, Json>>> => {
  if (call === undefined) return {}
  const { body } = await api.call(call, state.scope, signal)
  state.values[name] = body
  const captured: Record<string, Json> = {}
  for (const one of captures) {
    const value = captureValue(one, body, state.scope)
    if (value === undefined || value === null) continue
    captured[one.name] = value
    state.values[one.name] = value
  }
  return captured
}

const captureValue = (
  { from, default: fallback }: Precondition['captures'][number],
  body: Json,
  scope: Scope,
): Json | undefined => {
  if (from.kind === 'field') return (from.path.take(body, scope) as Json | undefined) ?? fallback
  const fields = isObject(body) ? (body as JsonObject) : {}
  try {
    return from.expression.evaluate({ ...scope, ...fields }) ?? fallback
  } catch (error) {
    if (!mayDefault(error) || fallback === undefined) throw error
    return fallback
  }
}

/** Why it is not met; undefined when it is. @throws TaskError */
const findUnmet = ({ conditions, expression }: Precondition, scope: Scope): string | undefined => {
  for (const condition of conditions) {
    const problem = explainUnmet(condition, scope)
    if (problem !== undefined) return problem
  }
  if (expression === undefined || isTrue(expression.text, expression.evaluate(scope))) return undefined
  return `${expression.text} is false`
}

/** @throws TaskError for what is neither true nor false */
export const isTrue = (text: string, value: Json): boolean => {
  if (typeof value === 'boolean') return value
  throw new TaskError(
    'ExpressionFailed',
    `${text} gives ${JSON.stringify(value)}: write an expression that gives true or false`,
  )
}
