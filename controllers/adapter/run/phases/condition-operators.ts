/** Whether a condition of a precondition holds, and what to say when it does not. The operators are the Go adapter's. ADAPTER-61. */
import { isDeepStrictEqual } from 'node:util'
import type { Condition, Json, Scope } from '../../task/task.ts'

/** Undefined when it holds; otherwise why not, as `generation greaterThan 30 (actual: 5)`. */
export const explainUnmet = ({ field, operator, value }: Condition, scope: Scope): string | undefined => {
  const actual = field.take(scope, scope) as Json | undefined
  if (holds(operator, actual, value)) return undefined
  const expected = value === undefined ? '' : ` ${JSON.stringify(value)}`
  return `${field.text} ${operator}${expected} (actual: ${actual === undefined ? 'none' : JSON.stringify(actual)})`
}

const holds = (operator: Condition['operator'], actual: Json | undefined, expected: Json | undefined): boolean => {
  switch (operator) {
    case 'exists':
      return actual !== undefined && actual !== null
    case 'notExists':
      return actual === undefined || actual === null
    case 'equals':
      return equal(actual, expected)
    case 'notEquals':
      return !equal(actual, expected)
    case 'in':
      return Array.isArray(expected) && expected.some((one) => equal(actual, one))
    case 'notIn':
      return !Array.isArray(expected) || !expected.some((one) => equal(actual, one))
    case 'contains':
      return contains(actual, expected)
    case 'greaterThan':
      return compare(actual, expected, (difference) => difference > 0)
    case 'greaterThanOrEqual':
      return compare(actual, expected, (difference) => difference >= 0)
    case 'lessThan':
      return compare(actual, expected, (difference) => difference < 0)
    case 'lessThanOrEqual':
      return compare(actual, expected, (difference) => difference <= 0)
  }
}

/** Nothing and null are the same, as they are to `has()`. */
const equal = (a: Json | undefined, b: Json | undefined): boolean => isDeepStrictEqual(a ?? null, b ?? null)

const contains = (actual: Json | undefined, expected: Json | undefined): boolean => {
  if (typeof actual === 'string') return typeof expected === 'string' && actual.includes(expected)
  if (Array.isArray(actual)) return actual.some((one) => equal(one, expected))
  return (
    typeof actual === 'object' && actual !== null && typeof expected === 'string' && Object.hasOwn(actual, expected)
  )
}

/** Numbers, and texts that are numbers; nothing else is greater or less. */
const compare = (a: Json | undefined, b: Json | undefined, judge: (difference: number) => boolean): boolean => {
  const [left, right] = [numberOf(a), numberOf(b)]
  return left !== undefined && right !== undefined && judge(left - right)
}

const numberOf = (value: Json | undefined): number | undefined => {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}
