import { isObject } from './is-object.ts'

/** One difference between two values. Lists are compared as a whole: a position in a list means nothing by itself. */
export interface DiffOp {
  readonly op: 'add' | 'remove' | 'change'
  readonly path: readonly string[]
  readonly old: unknown
  readonly new: unknown
}

export type Diff = readonly DiffOp[]

/** True when two JSON values are the same, whatever the order of their keys. An `undefined` field counts as absent. */
export const equal = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, at) => equal(item, right[at]))
  }
  if (!isObject(left) || !isObject(right)) return false
  for (const key in left) if (!equal(left[key], right[key])) return false
  for (const key in right) if (right[key] !== undefined && left[key] === undefined) return false
  return true
}

/** What changed from `old` to `now`, in the order of the old keys, then of the new ones. Empty when nothing did. */
export const diff = (old: unknown, now: unknown, path: readonly string[] = []): Diff => {
  // First, as most states that are compared are the same: it makes nothing.
  if (equal(old, now)) return []
  if (isObject(old) && isObject(now)) {
    const keys = new Set([...Object.keys(old), ...Object.keys(now)])
    return [...keys].flatMap((key) => diff(old[key], now[key], [...path, key]))
  }
  const op = old === undefined ? 'add' : now === undefined ? 'remove' : 'change'
  return [{ op, path, old, new: now }]
}

/** The part of a diff that touches a field: below it, at it, or above it (when a whole branch came or went). */
export const diffAt = (changes: Diff, field: readonly string[]): Diff =>
  changes.filter(({ path, old, new: now }) => {
    const shared = Math.min(path.length, field.length)
    for (let at = 0; at < shared; at++) if (path[at] !== field[at]) return false
    if (path.length >= field.length) return true
    const below = field.slice(path.length)
    return !equal(valueAt(old, below), valueAt(now, below))
  })

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), value)
