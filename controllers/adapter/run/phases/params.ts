/** Phase 1: gives each param its value. A required one without a value ends the run, and is reported. */

import { HIDDEN } from '#apis/hyperfleet.redhat.com/adapter-trace.ts'
import type { Json, Param, Source } from '../../task/task.ts'
import { NoConcernError } from '../api-reader.ts'
import type { Surroundings } from '../run-context.ts'
import type { Progress } from '../run-state.ts'
import { TaskError } from '../task-error.ts'
import { convert } from './convert-param.ts'

/** Reads the resource and all params into the progress. @throws NoConcernError, or the signal's reason */
export const readParams = async (progress: Progress, surroundings: Surroundings): Promise<void> => {
  try {
    progress.resource = await surroundings.api.resource(surroundings.signal)
  } catch (error) {
    if (error instanceof NoConcernError) throw error
    return progress.fail('params', 'resource', error)
  }
  for (const param of progress.task.params) {
    try {
      const value = await obtain(param, progress, surroundings)
      if (value !== undefined) progress.values[param.name] = value
      const isHidden = isSecret(param.source) && value !== undefined && value !== param.default
      if (isHidden) progress.veil.hide(typeof value === 'string' ? value : JSON.stringify(value))
      progress.params.push({ name: param.name, value: isHidden ? HIDDEN : value })
    } catch (error) {
      progress.params.push({ name: param.name })
      return progress.fail('params', param.name, error)
    }
  }
}

/** What comes from the surroundings of the manager is shown nowhere. */
const isSecret = ({ kind }: Source): boolean => kind === 'env' || kind === 'file'

/** Undefined when it has none and needs none. @throws TaskError */
const obtain = async (param: Param, progress: Progress, surroundings: Surroundings): Promise<Json | undefined> => {
  const { name, source, type, required } = param
  const fallback = param.default
  try {
    const found = await read(source, progress, surroundings)
    if (found !== undefined && found !== null && found !== '') return convert(name, found, typeFor(source, type))
  } catch (error) {
    if (!(error instanceof TaskError) || error.reason === 'ParamInvalid') throw error
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
const typeFor = (source: Source, type: Param['type']): Param['type'] =>
  source.kind === 'apiCall' || source.kind === 'expression' ? undefined : type

const read = async (source: Source, progress: Progress, surroundings: Surroundings): Promise<Json | undefined> => {
  const { api, signal } = surroundings
  switch (source.kind) {
    case 'path':
      return follow(progress.scope, source.path)
    case 'env':
      return progress.environment[source.variable]
    case 'expression':
      return source.expression.evaluate(progress.scope)
    case 'apiCall':
      return (await api.call(source.call, progress.scope, signal)).body
    case 'file': {
      const text = await fileText(source.path, surroundings)
      return source.trim ? text.trim() : text
    }
  }
}

const fileText = async (path: string, { readFile }: Surroundings): Promise<string> => {
  try {
    return await readFile(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new TaskError('ParamMissing', `the file ${path} can't be read: ${why}`, { cause: error })
  }
}

const follow = (from: unknown, path: readonly string[]): Json | undefined => {
  let value = from
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value as Json | undefined
}
