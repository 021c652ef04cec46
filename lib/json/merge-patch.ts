import { equal } from './diff.ts'
import { isObject } from './is-object.ts'

/** Merge patches (RFC 7386) as values: combined, made from two states, and reduced to what differs. */

export type Json = Record<string, unknown>

/** Adds a later patch to an earlier one, in place. What the later says wins. */
export const mergePatches = (earlier: Json, later: Json): void => {
  for (const [key, value] of Object.entries(later)) {
    if (value === undefined) continue
    const before = earlier[key]
    if (!isObject(value)) earlier[key] = value
    else if (isObject(before)) mergePatches(before, value)
    else {
      const copy: Json = {}
      mergePatches(copy, value)
      earlier[key] = copy
    }
  }
}

/** The merge patch that turns `old` into `now`; undefined when they are the same. */
export const patchBetween = (old: Json, now: Json): Json | undefined => {
  const patch: Json = {}
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const before = old[key]
    const after = now[key]
    if (equal(before, after)) continue
    if (after === undefined) patch[key] = null
    else patch[key] = isObject(before) && isObject(after) ? patchBetween(before, after) : after
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

/**
 * A patch without what is true already; undefined when nothing remains. A removal inside a map that is not there would
 * make an empty map of it, which no caller means: it goes as well.
 * @param whole false when `current` is a projection: what it lacks may be there, so removals stay
 */
export const prune = (patch: Json, current: unknown, whole = true): Json | undefined => {
  const rest: Json = {}
  for (const [key, value] of Object.entries(patch)) {
    const there = isObject(current) ? current[key] : undefined
    if (value === null ? whole && there === undefined : equal(value, there)) continue
    if (isObject(value) && (isObject(there) || (there === undefined && Object.keys(value).length > 0))) {
      const part = prune(value, there, whole)
      if (part !== undefined) rest[key] = part
    } else rest[key] = value
  }
  return Object.keys(rest).length === 0 ? undefined : rest
}
