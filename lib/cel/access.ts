/** `a.b`, `a[b]`, `a.?b`, `a[?b]` and `has(a.b)`. */
import { nearest } from '../text/nearest.ts'
import { type Evaluator, evaluationError, type Node, type Scope } from './library.ts'
import { Duration, keyOf, Optional } from './values.ts'

/** What a lookup found: a value, or why there is none. */
type Found = { readonly value: unknown } | { readonly missing: string; readonly code: string }

/** Keys that a message may list: people have to be able to read it. */
const LISTED_KEYS = 10

const noSuchKey = (key: unknown, keys: Iterable<unknown>): Found => {
  const names = [...keys].filter((name) => typeof name === 'string')
  const near = typeof key === 'string' ? nearest(key, names) : undefined
  const choice =
    near !== undefined
      ? `: did you mean ${JSON.stringify(near)}?`
      : names.length > 0 && names.length <= LISTED_KEYS
        ? `: there are ${names.join(', ')}`
        : ''
  return { missing: `no such key: ${String(key)}${choice}`, code: 'no_such_key' }
}

const element = (list: readonly unknown[], index: unknown): Found => {
  const key = keyOf(index)
  if (typeof key !== 'bigint') {
    return {
      missing: `a list is indexed by an int, not by ${JSON.stringify(String(index))}`,
      code: 'invalid_index_type',
    }
  }
  const value = key < 0n || key >= list.length ? undefined : list[Number(key)]
  if (value !== undefined) return { value }
  return { missing: `index ${key} is outside of a list of ${list.length}`, code: 'index_out_of_bounds' }
}

/** The entry of a map, or the element of a list. */
const lookUp = (container: unknown, key: unknown, evaluator: Evaluator): Found => {
  if (container instanceof Map) {
    const value: unknown = container.get(keyOf(key))
    return value === undefined ? noSuchKey(key, container.keys()) : { value }
  }
  if (Array.isArray(container)) return element(container, key)
  // Name spaces of types, such as google.protobuf, are plain objects of the library.
  if (isNamespace(container)) {
    const value = Object.hasOwn(container, String(key)) ? container[String(key)] : undefined
    return value === undefined ? noSuchKey(key, Object.keys(container)) : { value }
  }
  return { missing: `${evaluator.debugType(container).name} has no ${String(key)}`, code: 'no_such_overload' }
}

const isNamespace = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !(value instanceof Date || value instanceof Duration)
    ? Object.getPrototypeOf(value) === Object.prototype
    : false

/** How a key is written in a node: `.name` holds it, `[expression]` computes it. */
const keyIn = (node: Node, evaluator: Evaluator, scope: Scope): unknown => {
  const [, key] = node.args as [Node, string | Node]
  return typeof key === 'string' ? key : evaluator.run(key, scope)
}

const operand = (node: Node): Node => (node.args as [Node])[0]

/** `a.b` and `a[b]`; inside an optional they stay optional: `a.?b.c`. */
export const select = (evaluator: Evaluator, node: Node, scope: Scope): unknown => {
  const container = evaluator.run(operand(node), scope)
  const key = keyIn(node, evaluator, scope)
  if (container instanceof Optional) {
    return container.hasValue() ? optional(lookUp(container.value(), key, evaluator), false, node) : container
  }
  const found = lookUp(container, key, evaluator)
  if ('missing' in found) throw evaluationError(found.code, found.missing, node)
  const type = node.checkedType
  if (type !== undefined && !type.hasDynType && !type.matchesValueType(found.value, evaluator)) {
    const actual = evaluator.debugType(found.value).name
    throw evaluationError(
      'field_type_mismatch',
      `${String(key)} is declared as ${type.name}, but it is ${actual}`,
      node,
    )
  }
  return found.value
}

const optional = (found: Found, nullIsAbsent: boolean, node: Node): Optional => {
  if ('missing' in found) {
    if (found.code === 'no_such_overload' || found.code === 'invalid_index_type') {
      throw evaluationError(found.code, found.missing, node)
    }
    return Optional.none()
  }
  return found.value === null && nullIsAbsent ? Optional.none() : Optional.of(found.value)
}

/** `a.?b` and `a[?b]`. */
export const selectOptional =
  (nullIsAbsent: boolean) =>
  (evaluator: Evaluator, node: Node, scope: Scope): unknown => {
    const container = evaluator.run(operand(node), scope)
    const key = keyIn(node, evaluator, scope)
    if (!(container instanceof Optional)) return optional(lookUp(container, key, evaluator), nullIsAbsent, node)
    return container.hasValue() ? optional(lookUp(container.value(), key, evaluator), nullIsAbsent, node) : container
  }

/** `has(a.b)`: whether the map `a` has `b`. A missing `a` is an error, as everywhere. */
export const has =
  (nullIsAbsent: boolean) =>
  (evaluator: Evaluator, field: Node, scope: Scope): boolean => {
    const container = evaluator.run(operand(field), scope)
    if (container instanceof Optional && !container.hasValue()) return false
    const inner = container instanceof Optional ? container.value() : container
    const found = lookUp(inner, keyIn(field, evaluator, scope), evaluator)
    if ('value' in found) return !(found.value === null && nullIsAbsent)
    if (inner instanceof Map) return false
    throw evaluationError(found.code, found.missing, field)
  }
