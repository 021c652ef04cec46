/** Phase 2: whether the run goes on to the resources. An expression that has no value fails the run; it is never taken for false. */

import type { Json, JsonObject, Precondition, Scope } from '../../task/task.ts'
import { isGone, NoConcernError } from '../api-reader.ts'
import { says } from '../log-step.ts'
import type { Surroundings } from '../run-context.ts'
import type { Progress } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { unmet } from './condition-operators.ts'

/** Checks them in order until one is not met or fails. @throws NoConcernError, or the signal's reason */
export const checkPreconditions = async (progress: Progress, surroundings: Surroundings): Promise<void> => {
  for (const precondition of progress.task.preconditions) {
    const { name } = precondition
    try {
      const captured = await capture(precondition, progress, surroundings)
      const problem = problemOf(precondition, progress.scope)
      says(precondition.log, progress.scope, { veil: progress.veil, log: surroundings.log })
      progress.preconditions.push({
        name,
        met: problem === undefined,
        ...(problem !== undefined && { message: problem }),
        ...(Object.keys(captured).length > 0 && { captured }),
      })
      if (problem === undefined) continue
      progress.skipReason = `precondition '${name}' not met: ${problem}`
      return
    } catch (error) {
      if (isGone(error)) throw new NoConcernError(`precondition '${name}': ${error.message}`, { cause: error })
      progress.fail('preconditions', name, error)
      const message = error instanceof Error ? error.message : String(error)
      progress.preconditions.push({ name, met: false, message })
      progress.skipReason = message
      return
    }
  }
}

/** Asks, and takes out of the answer what is wanted of it. @throws TaskError */
const capture = async (
  { name, call, captures }: Precondition,
  progress: Progress,
  { api, signal }: Surroundings,
): Promise<Readonly<Record<string, Json>>> => {
  if (call === undefined) return {}
  const { body } = await api.call(call, progress.scope, signal)
  progress.values[name] = body
  const captured: Record<string, Json> = {}
  for (const one of captures) {
    const value = taken(one, body, progress.scope)
    if (value === undefined || value === null) continue
    captured[one.name] = value
    progress.values[one.name] = value
  }
  return captured
}

const taken = (
  { from, default: fallback }: Precondition['captures'][number],
  body: Json,
  scope: Scope,
): Json | undefined => {
  if (from.kind === 'field') return (from.path.take(body) as Json | undefined) ?? fallback
  const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {}
  try {
    return from.expression.evaluate({ ...scope, ...fields }) ?? fallback
  } catch (error) {
    if (!(error instanceof TaskError) || fallback === undefined) throw error
    return fallback
  }
}

/** Why it is not met; undefined when it is. @throws TaskError */
const problemOf = ({ conditions, expression }: Precondition, scope: Scope): string | undefined => {
  for (const condition of conditions) {
    const problem = unmet(condition, scope)
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
