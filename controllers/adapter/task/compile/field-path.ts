/** Paths into values: `status.phase`, or JSONPath as kubectl writes it: `{.items[?(@.type=="Ready")].status}`. */

import { errorOf } from '#lib/errors/error-of.ts'
import { ADAPTER_ERRORS } from '../../errors.ts'
import { budgetOf } from '../../run/run-budget.ts'
import type { FieldPath, Scope } from '../task.ts'
import { compileJsonPath } from './json-path.ts'

/** A path that can't be read; the message says what to write. */
export class FieldPathError extends errorOf(ADAPTER_ERRORS, 'FieldPathError') {
  constructor(text: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`${JSON.stringify(text)} is no path (${why}): write status.phase or {.items[?(@.type=="Ready")].status}`)
  }
}

const DOTTED = /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/

/** @param field where the task has it. @throws FieldPathError */
export const parseFieldPath = (text: string, field = text): FieldPath =>
  DOTTED.test(text) ? dotted(text) : jsonPath(text, field)

const dotted = (text: string): FieldPath => {
  const keys = text.split('.')
  return { text, take: (from) => keys.reduce<unknown>(step, from) }
}

/** The value under a key of an object or an index of a list; undefined when there is none, and for null. */
const step = (value: unknown, key: string): unknown => {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key] ?? undefined
}

const jsonPath = (text: string, field: string): FieldPath => {
  const bare = text.trim().replace(/^\{(.*)\}$/s, '$1')
  const absolute = bare.startsWith('$') ? bare : `$${/^[.[]/.test(bare) ? '' : '.'}${bare}`
  try {
    const query = compileJsonPath(absolute)
    return {
      text,
      take(from: unknown, scope: Scope) {
        const found = budgetOf(scope).evaluate(field, (spend) => query(from, spend))
        return found.length > 1 ? found : (found[0] ?? undefined)
      },
    }
  } catch (error) {
    throw new FieldPathError(text, error)
  }
}
