/** Phase 1: gives each param its value. A required one without a value ends the run, and is reported: ADAPTER-5. */

import { HIDDEN } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Json, Param, ParamSource } from '../../task/task.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { mayDefault, TaskError } from '../task-error.ts'
import { convertParam } from './convert-param.ts'

/** Reads all params into the run's state. @throws the signal's reason */
export const readParams = async (state: RunState, context: RunContext): Promise<void> => {
  for (const param of state.task.params) {
    await state.budget.giveTurn()
    try {
      await readParam(param, state, context)
    } catch (error) {
      state.params.push({ name: param.name })
      return state.fail('params', param.name, error)
    }
  }
}

/**
 * Reads what can be read, for a sweep: what has a value does not wait for what has none any more, such as a field of a resource that
 * is gone. What needs a missing one fails by itself. ADAPTER-78. @throws the signal's reason
 */
export const readParamsThatAreThere = async (state: RunState, context: RunContext): Promise<void> => {
  for (const param of state.task.params)
    try {
      await readParam(param, state, context)
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      state.params.push({ name: param.name })
    }
}

const readParam = async (param: Param, state: RunState, context: RunContext): Promise<void> => {
  const value = await resolveParam(param, state, context)
  if (value !== undefined) state.values[param.name] = value
  const isHidden = isSecret(param.source) && value !== undefined && value !== param.default
  if (isHidden) state.redactor.addSecret(typeof value === 'string' ? value : JSON.stringify(value))
  state.params.push({ name: param.name, value: isHidden ? HIDDEN : value })
}

/** Values from the environment and from files are redacted: ADAPTER-53. */
const isSecret = ({ kind }: ParamSource): boolean => kind === 'env' || kind === 'file'

/** Undefined when it has none and needs none. @throws TaskError */
const resolveParam = async (param: Param, state: RunState, context: RunContext): Promise<Json | undefined> => {
  const { name, source, type, required } = param
  const fallback = param.default
  try {
    const found = await readSource(source, state, context)
    if (found !== undefined && found !== null && found !== '')
      return convertParam(name, found, conversionType(source, type))
  } catch (error) {
    if (!mayDefault(error) || error.reason === 'ParamInvalid') throw error
    if (fallback === undefined && required)
      throw new TaskError('ParamMissing', `the required param ${name} has no value: ${error.message}`, { cause: error })
    // An expression that fails is a mistake in the task, unless the task says what to take then.
    if (fallback === undefined && error.reason !== 'RequestFailed') throw error
  }
  if (fallback !== undefined) return fallback
  if (required) throw new TaskError('ParamMissing', `the required param ${name} has no value: its source gives nothing`)
  return undefined
}

/** Answers and expressions have their types already. */
const conversionType = (source: ParamSource, type: Param['type']): Param['type'] =>
  source.kind === 'apiCall' || source.kind === 'expression' ? undefined : type

const readSource = async (source: ParamSource, state: RunState, context: RunContext): Promise<Json | undefined> => {
  const { api, signal } = context
  switch (source.kind) {
    case 'path':
      return valueAtPath(state.scope, source.path)
    case 'env':
      return state.environment[source.variable]
    case 'expression':
      return source.expression.evaluate(state.scope)
    case 'apiCall':
      return (await api.call(source.call, state.scope, signal)).body
    case 'file': {
      const text = await readFileText(source.path, context)
      return source.trim ? text.trim() : text
    }
  }
}

const readFileText = async (path: string, { readFile }: RunContext): Promise<string> => {
  try {
    return await readFile(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new TaskError('ParamMissing', `the file ${path} can't be read: ${why}`, { cause: error })
  }
}

const valueAtPath = (from: unknown, path: readonly string[]): Json | undefined => {
  let value = from
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value as Json | undefined
}
