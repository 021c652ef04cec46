/**
 * The values of templates: JSON with Go's distinction of ints (bigint) and floats (number), and times. Data is taken as it
 * is; a number without a fraction becomes an int when it is looked at.
 */
import { isObject } from '#lib/json/is-object.ts'
import { Refusal } from './errors.ts'

export type Value = unknown

/** A JSON number of the data as Go would hold it, had it been decoded as an int where it is one. */
export const fromData = (value: unknown): Value => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  return value === undefined ? null : value
}

/** An own entry of a map, undefined without one; nothing that JavaScript adds to objects is seen. */
export const entry = (map: object, key: string): Value => {
  if (map instanceof Map) return map.has(key) ? fromData(map.get(key)) : undefined
  return Object.hasOwn(map, key) ? fromData((map as Readonly<Record<string, unknown>>)[key]) : undefined
}

export const isMap = (value: Value): value is object => isObject(value) && !(value instanceof Date)

/** Keys in Go's order of maps: by their bytes. */
export const keysOf = (map: object): string[] => {
  const keys = map instanceof Map ? [...map.keys()].map(String) : Object.keys(map)
  return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

export type Kind = 'nil' | 'bool' | 'int' | 'float' | 'string' | 'list' | 'map' | 'time'

export const kindOf = (value: Value): Kind => {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'float'
    case 'string':
      return 'string'
    case 'object':
      if (value === null) return 'nil'
      if (Array.isArray(value)) return 'list'
      return value instanceof Date ? 'time' : 'map'
    default:
      throw new Refusal(`a value is of type ${typeof value}, which templates do not know`)
  }
}

/** Go's names of the types, for messages and `%T`. */
export const TYPE_NAMES: Readonly<Record<Kind, string>> = {
  nil: '<nil>',
  bool: 'bool',
  int: 'int',
  float: 'float64',
  string: 'string',
  list: '[]interface {}',
  map: 'map[string]interface {}',
  time: 'time.Time',
}

/** What `if` goes by: not nil, not false, not 0, not empty. */
export const isTrue = (value: Value): boolean => {
  switch (kindOf(value)) {
    case 'nil':
      return false
    case 'list':
      return (value as readonly unknown[]).length > 0
    case 'map':
      return value instanceof Map ? value.size > 0 : Object.keys(value as object).length > 0
    case 'float':
      return value !== 0
    case 'time':
      return true
    default:
      return Boolean(value)
  }
}
