/** Checks a task file against the schema of the language, and says what to write where it differs. */
import { isObject } from '#lib/json/is-object.ts'
import { nearest } from '#lib/text/nearest.ts'
import type { TaskProblem } from '../task-problems.ts'

/** The keywords of JSON Schema that the language's schema uses. */
interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

/** A problem for every place where the value is not of the shape. @param shape a TypeBox schema */
export const schemaProblems = (value: unknown, shape: object, path = ''): readonly TaskProblem[] =>
  check(value, shape as Schema, path)

type Problems = readonly TaskProblem[]
const NONE: Problems = []
const found = (path: string, message: string): Problems => [{ path, message }]

const check = (value: unknown, shape: Schema, path: string): Problems => {
  if (shape.anyOf !== undefined) return checkChoice(value, shape.anyOf, path)
  if (shape.enum !== undefined) return checkEnum(value, shape.enum, path)
  if (shape.type === undefined) return NONE
  if (!isOfType(value, shape.type)) return found(path, `is ${kindOf(value)}: write ${TYPE_NAMES[shape.type]}`)
  switch (shape.type) {
    case 'string':
      return checkText(value as string, shape, path)
    case 'array':
      return checkList(value as readonly unknown[], shape, path)
    case 'object':
      return checkObject(value as Readonly<Record<string, unknown>>, shape, path)
    case 'integer':
    case 'number':
      return checkRange(value as number, shape, path)
    default:
      return NONE
  }
}

/** Of several shapes the one that has the value's type and, among objects, most of its keys, is the one that was meant. */
const checkChoice = (value: unknown, shapes: readonly Schema[], path: string): Problems => {
  const fitting = shapes.filter(({ type }) => type === undefined || isOfType(value, type))
  const [meant] = fitting.toSorted((a, b) => likeness(value, b) - likeness(value, a))
  if (meant !== undefined) return check(value, meant, path)
  const words = [...new Set(shapes.map(({ type = '' }) => TYPE_NAMES[type]))].join(' or ')
  return found(path, `is ${kindOf(value)}: write ${words}`)
}

/** How many of the value's keys the shape knows; a shape of any keys is better than one that knows none of them. */
const likeness = (value: unknown, { properties, patternProperties }: Schema): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (properties === undefined) return patternProperties === undefined ? 0 : 0.5
  return Object.keys(value).filter((key) => properties[key] !== undefined).length
}

const checkEnum = (value: unknown, choices: readonly unknown[], path: string): Problems => {
  if (choices.includes(value)) return NONE
  const hint = typeof value === 'string' ? hintAt(value, choices.map(String)) : ''
  return found(path, `is ${quoted(value)}${hint}: write one of ${choices.join(', ')}`)
}

const checkText = (
  text: string,
  { minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema,
  path: string,
): Problems => {
  if (text.length < minLength) return found(path, 'is empty: write a text, or leave the key out')
  return text.length > maxLength ? found(path, `has ${text.length} characters: write at most ${maxLength}`) : NONE
}

const checkRange = (
  value: number,
  { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Schema,
  path: string,
): Problems => {
  if (value < minimum) return found(path, `is ${value}: write ${minimum} or more`)
  return value > maximum ? found(path, `is ${value}: write ${maximum} or less`) : NONE
}

const checkList = (
  list: readonly unknown[],
  { items, maxItems = Number.POSITIVE_INFINITY }: Schema,
  path: string,
): Problems => [
  ...(list.length > maxItems ? found(path, `has ${list.length} items: write at most ${maxItems}`) : NONE),
  ...(items === undefined ? NONE : list.flatMap((item, at) => check(item, items, `${path}[${at}]`))),
]

const checkObject = (
  object: Readonly<Record<string, unknown>>,
  { properties, required = [], patternProperties }: Schema,
  path: string,
): Problems => {
  if (properties === undefined) {
    const [entry] = Object.values(patternProperties ?? {})
    return entry === undefined
      ? NONE
      : Object.entries(object).flatMap(([key, value]) => check(value, entry, within(path, key)))
  }
  const known = Object.keys(properties)
  const missing = required.filter((key) => object[key] === undefined)
  return [
    ...Object.entries(object).flatMap(([key, value]) => {
      if (value === undefined) return NONE
      const shape = properties[key]
      if (shape !== undefined) return check(value, shape, within(path, key))
      return found(within(path, key), `is not known here${hintAt(key, known)}: ${knownKeys(known)}`)
    }),
    ...missing.flatMap((key) => found(within(path, key), 'is missing: it is required here')),
  ]
}

const knownKeys = (known: readonly string[]): string => `write one of ${known.join(', ')}`

const within = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

const hintAt = (text: string, choices: readonly string[]): string => {
  const near = nearest(text, choices)
  return near === undefined ? '' : `, did you mean ${near}?`
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

const isOfType = (value: unknown, type: string): boolean => {
  switch (type) {
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

const kindOf = (value: unknown): string => {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return quoted(value)
}

const quoted = (value: unknown): string => JSON.stringify(value) ?? String(value)
