/** Turns texts into the type that a param declares. As in the Go adapter. */

import type { Json, ParamType } from '../../task/task.ts'
import { TaskError } from '../task-error.ts'

const TRUE = ['true', 'yes', 'y', 'on', '1', 't']
const FALSE = ['false', 'no', 'n', 'off', '0', 'f']

/** @throws TaskError ParamInvalid that names the value's form but never the value, which may be secret */
export const convertParam = (name: string, value: Json, type: ParamType | undefined): Json => {
  if (type === undefined) return value
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
    case 'int':
    case 'int64':
      return numberOf(name, value, /^[+-]?\d+$/, 'a whole number')
    case 'float':
    case 'float64':
      return numberOf(name, value, /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, 'a number')
    case 'bool':
      return boolOf(name, value)
  }
}

const numberOf = (name: string, value: Json, form: RegExp, words: string): number => {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  const number = Number(text)
  if (!form.test(text) || !Number.isFinite(number)) throw invalid(name, words)
  if (words === 'a whole number' && !Number.isSafeInteger(number)) throw invalid(name, 'a whole number below 2^53')
  return number
}

const boolOf = (name: string, value: Json): boolean => {
  if (typeof value === 'boolean') return value
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).trim().toLowerCase()
  if (TRUE.includes(text)) return true
  if (FALSE.includes(text)) return false
  throw invalid(name, 'true or false, yes or no, on or off, 1 or 0')
}

const invalid = (name: string, words: string): TaskError =>
  new TaskError('ParamInvalid', `the value of param ${name} is not ${words}`)
