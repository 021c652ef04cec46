import { Refusal } from '../errors.ts'
import { isTrue, kindOf, type Value } from '../value.ts'
import type { TemplateFunction } from './function.ts'

type Comparable = 'bool' | 'int' | 'float' | 'string'
const COMPARABLE = new Set<string>(['bool', 'int', 'float', 'string'] satisfies Comparable[])

const equalTo = (a: Value, b: Value): boolean => {
  const left = kindOf(a)
  const right = kindOf(b)
  if (left === 'nil' || right === 'nil') return left === right
  if (left !== right) throw new Refusal(`a ${left} can't be compared with a ${right}`)
  if (left === 'time') return (a as Date).getTime() === (b as Date).getTime()
  if (!COMPARABLE.has(left)) throw new Refusal(`a ${left} can't be compared`)
  return a === b
}

const eq = (a: Value, ...others: readonly Value[]): boolean => {
  if (others.length === 0) throw new Refusal('eq compares two values or more')
  return others.some((b) => equalTo(a, b))
}

/** -1, 0 or 1. */
const order = (a: Value, b: Value): number => {
  const left = kindOf(a)
  const right = kindOf(b)
  if (left !== right) throw new Refusal(`a ${left} can't be compared with a ${right}`)
  if (left === 'int' || left === 'float') return (a as number) < (b as number) ? -1 : a === b ? 0 : 1
  if (left === 'string') return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
  throw new Refusal(`a ${left} has no order`)
}

const isOrdered = (a: Value, b: Value): boolean => !(Number.isNaN(a) || Number.isNaN(b))

/** `and` and `or` are listed here for their names; the renderer stops at the first argument that decides. */
const decides = (): Value => {
  throw new Error('and and or are evaluated by the renderer')
}

/** Whether values are empty, equal or in order. */
export const comparisonFunctions: readonly TemplateFunction[] = [
  {
    name: 'and',
    usage: 'and A B',
    description: 'The first value that is empty, or the last.',
    parameters: ['any'],
    rest: 'any',
    call: decides,
  },
  {
    name: 'or',
    usage: 'or A B',
    description: 'The first value that is not empty, or the last.',
    parameters: ['any'],
    rest: 'any',
    call: decides,
  },
  {
    name: 'not',
    usage: 'not A',
    description: 'Whether a value is empty.',
    parameters: ['any'],
    call: (value: Value) => !isTrue(value),
  },
  {
    name: 'eq',
    usage: 'eq A B',
    description: 'Whether A equals B, or one of several.',
    parameters: ['any'],
    rest: 'any',
    call: eq,
  },
  {
    name: 'ne',
    usage: 'ne A B',
    description: 'Whether A does not equal B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !eq(a, b),
  },
  {
    name: 'lt',
    usage: 'lt A B',
    description: 'Whether A is less than B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => isOrdered(a, b) && order(a, b) < 0,
  },
  {
    name: 'le',
    usage: 'le A B',
    description: 'Whether A is less than B or equal.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => isOrdered(a, b) && order(a, b) <= 0,
  },
  {
    name: 'gt',
    usage: 'gt A B',
    description: 'Whether A is greater than B.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !isOrdered(a, b) || order(a, b) > 0,
  },
  {
    name: 'ge',
    usage: 'ge A B',
    description: 'Whether A is greater than B or equal.',
    parameters: ['any', 'any'],
    call: (a: Value, b: Value) => !isOrdered(a, b) || order(a, b) >= 0,
  },
]
