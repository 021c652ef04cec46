import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { equal } from './diff.ts'
import { isObject } from './is-object.ts'
import { type Json, mergePatches, patchBetween, prune } from './merge-patch.ts'

/** RFC 7386, section 2, word for word: the judge. */
const apply = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const result: Json = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = apply(result[key], value)
  }
  return result
}

const withoutEmptyMaps = (value: unknown): unknown => {
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [key, withoutEmptyMaps(part)] as const)
  const kept = entries.filter(([, part]) => part !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** Objects as the API server has them: without nulls, which a merge patch can't express. */
const { object } = fc.letrec<{ object: Json; value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ max: 3 }),
    fc.array(fc.integer({ max: 3 }), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
}))
const { patch } = fc.letrec<{ patch: Json; value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer({ max: 3 }), fc.constant(null), tie('patch')),
  patch: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
}))

describe('merge patches', () => {
  it('between two states leads from one to the other', () => {
    fc.assert(
      fc.property(object, object, (old, now) => {
        expect(equal(apply(old, patchBetween(old, now) ?? {}), now)).toBe(true)
      }),
    )
  })

  it('pruned by a state do to it what they did before, and nothing remains when nothing would change', () => {
    fc.assert(
      fc.property(object, patch, (state, change) => {
        const rest = prune(change, state)
        const whole = apply(state, change)
        expect(withoutEmptyMaps(apply(state, rest ?? {}))).toEqual(withoutEmptyMaps(whole))
        if (equal(whole, state)) expect(rest).toBeUndefined()
      }),
    )
  })

  it('pruned by a projection keep their removals', () => {
    expect(prune({ spec: { a: null, b: 1 } }, { spec: { b: 1 } }, false)).toEqual({ spec: { a: null } })
  })

  it('combined say what the later says, and leave the later as it was', () => {
    const earlier: Json = { spec: { a: 1, b: { c: 1 } } }
    const later = { spec: { a: null, b: { d: 2 } }, status: { x: 1 } }
    mergePatches(earlier, later)
    mergePatches(earlier, { status: { y: 2 } })
    expect(earlier).toEqual({ spec: { a: null, b: { c: 1, d: 2 } }, status: { x: 1, y: 2 } })
    expect(later).toEqual({ spec: { a: null, b: { d: 2 } }, status: { x: 1 } })
  })
})
