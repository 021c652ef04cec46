/**
 * Values on their way into CEL and out of it.
 *
 *   JavaScript                    CEL                         JavaScript
 *   number without a fraction ──► int (bigint inside)     ──► number, bigint beyond 2^53
 *   other number              ──► double                  ──► number
 *   bigint                    ──► int                     ──► as int
 *   object, Map               ──► map (Map inside)        ──► object, Map when a key is no text
 *   Date, Duration            ──► timestamp, duration     ──► Date, Duration
 *   undefined in an object    ──► (absent)
 *                                 optional                ──► its value, undefined without one
 */

import { Optional } from '@marcbachmann/cel-js'
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { LIB_ERRORS } from '../errors/catalogue.ts'
import { errorOf } from '../errors/error-of.ts'
import { LimitReached, type Limits, type Meter, tooDeep, tooLong, tooMany } from './limits.ts'

export { Duration, Optional, UnsignedInt }

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)

export const isInt64 = (value: bigint): boolean => value >= MIN_INT && value <= MAX_INT

/** A JavaScript value that CEL has no type for. */
export class ValueError extends errorOf(LIB_ERRORS, 'ValueError') {}

const describe = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? `an object of class ${value.constructor?.name ?? 'unknown'}`
    : `of type ${typeof value}`

/** Whether an object holds data only: made by a literal, JSON.parse or Object.create(null). */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A copy of a JavaScript value for CEL. @throws ValueError for what CEL has no type for, LimitReached */
export const toCel = (value: unknown, meter: Meter, path = 'the value', depth = 0): unknown => {
  const { limits } = meter
  meter.charge(1)
  switch (typeof value) {
    case 'string':
      if (value.length > limits.text) throw tooLong(limits)
      return value
    case 'boolean':
      return value
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value
    case 'bigint':
      if (isInt64(value)) return value
      throw new ValueError(`${path} is ${value}, which is no 64 bit integer`)
    case 'object':
      break
    default:
      throw new ValueError(`${path} is ${describe(value)}: give text, numbers, booleans, null, lists and objects`)
  }
  if (value === null) return null
  if (depth >= limits.depth) throw tooDeep(limits)
  if (Array.isArray(value)) {
    if (value.length > limits.elements) throw tooMany(limits)
    return value.map((element, index) => toCel(element, meter, `${path}[${index}]`, depth + 1))
  }
  const isMap = value instanceof Map
  if (isMap || isPlain(value)) {
    const entries: [unknown, unknown][] = isMap ? [...value] : Object.entries(value)
    if (entries.length > limits.elements) throw tooMany(limits)
    const map = new Map<unknown, unknown>()
    for (const [key, inner] of entries) {
      if (inner === undefined) continue
      map.set(keyOf(toCel(key, meter, `a key of ${path}`)), toCel(inner, meter, `${path}.${String(key)}`, depth + 1))
    }
    return map
  }
  if (value instanceof Uint8Array) {
    if (value.length > limits.text) throw tooLong(limits)
    // A Buffer is a Uint8Array of another class, which the library does not know.
    return value.constructor === Uint8Array ? value : new Uint8Array(value)
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new ValueError(`${path} is an invalid Date`)
    return value
  }
  if (value instanceof Duration || value instanceof UnsignedInt || value instanceof Optional) return value
  throw new ValueError(`${path} is ${describe(value)}: give text, numbers, booleans, null, lists and objects`)
}

/** One form for numeric keys that CEL holds equal: 1, 1u and 1.0 find the same entry. */
export const keyOf = (key: unknown): unknown => {
  if (key instanceof UnsignedInt) return key.value
  if (typeof key === 'number' && Number.isSafeInteger(key)) return BigInt(key)
  return key
}

/** Counts what goes into a result. */
class Size {
  #left: number
  readonly #limits: Limits
  constructor(limits: Limits) {
    this.#left = limits.result
    this.#limits = limits
  }
  /** Characters and values so far. */
  get used(): number {
    return this.#limits.result - this.#left
  }
  add(amount: number): void {
    this.#left -= amount
    if (this.#left >= 0) return
    throw new LimitReached('result', `the result is larger than ${this.#limits.result} characters and values`)
  }
  deepen(depth: number): number {
    if (depth >= this.#limits.depth) throw tooDeep(this.#limits)
    return depth + 1
  }
}

const integer = (value: bigint): number | bigint => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** A copy of a CEL value for JavaScript; what is for JavaScript already stays as it is. @param meter is told its size. @throws LimitReached when it is too large */
export const fromCel = (value: unknown, limits: Limits, meter?: Meter): unknown => {
  const size = new Size(limits)
  const out = (inner: unknown, depth: number): unknown => {
    size.add(1)
    if (typeof inner === 'string') {
      size.add(inner.length)
      return inner
    }
    if (typeof inner === 'bigint') return integer(inner)
    if (typeof inner !== 'object' || inner === null) return inner
    if (Array.isArray(inner)) {
      const deeper = size.deepen(depth)
      return inner.map((element) => out(element, deeper))
    }
    if (inner instanceof Map) {
      const deeper = size.deepen(depth)
      const entries = [...inner].map(([key, element]): [unknown, unknown] => [out(key, deeper), out(element, deeper)])
      return entries.every(([key]) => typeof key === 'string') ? Object.fromEntries(entries) : new Map(entries)
    }
    if (inner instanceof UnsignedInt) return integer(inner.value)
    if (inner instanceof Uint8Array) {
      size.add(inner.length)
      return inner
    }
    if (inner instanceof Optional) return inner.hasValue() ? out(inner.value(), size.deepen(depth)) : undefined
    if (inner instanceof Date || inner instanceof Duration) return inner
    if (isPlain(inner)) {
      const deeper = size.deepen(depth)
      return Object.fromEntries(Object.entries(inner).map(([key, element]) => [key, out(element, deeper)]))
    }
    // What is left are CEL's types, the results of type(x).
    return typeName(inner)
  }
  const result = out(value, 0)
  meter?.spend(size.used)
  return result
}

/** The name of a CEL type that is a value: the result of `type(x)`. */
const typeName = (value: object): string => {
  const name = 'name' in value ? String(value.name) : 'type'
  return name === 'null' ? 'null_type' : name
}
