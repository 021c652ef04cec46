import { Refusal } from '../errors.ts'
import { plain } from '../print.ts'
import type { Value } from '../value.ts'
import type { TemplateFunction } from './function.ts'

const isMissing = (value: Value): boolean => value === null || value === ''

const TWO_63 = 2 ** 63

/** An int of a number, or of a text that is one. A text that is none is an error here; the Go program makes 0 of it. */
const int = (value: Value): bigint => {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Math.abs(value) < TWO_63) return BigInt(Math.trunc(value))
  if (typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ''))
    if (number < 2n ** 63n && number >= -(2n ** 63n)) return number
  }
  throw new Refusal(`${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : plain(value)} is no int`)
}

const float = (value: Value): number => {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number') return value
  if (typeof value === 'string' && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return Number(value)
  throw new Refusal(`${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : plain(value)} is no number`)
}

/** A value instead of nothing, and numbers and texts of each other. */
export const conversionFunctions: readonly TemplateFunction[] = [
  {
    name: 'default',
    usage: 'default "x" A',
    description: 'A, or another value when A is nothing or an empty text.',
    parameters: ['any', 'any'],
    call: (other: Value, value: Value) => (isMissing(value) ? other : value),
  },
  {
    name: 'int',
    usage: 'int A',
    description: 'A whole number, of a number or of a text that is one.',
    parameters: ['any'],
    call: int,
  },
  { name: 'int64', usage: 'int64 A', description: 'The same.', parameters: ['any'], call: int },
  { name: 'float', usage: 'float A', description: 'A number with a fraction.', parameters: ['any'], call: float },
  { name: 'float64', usage: 'float64 A', description: 'The same.', parameters: ['any'], call: float },
  { name: 'string', usage: 'string A', description: 'A value as text.', parameters: ['any'], call: plain },
]
