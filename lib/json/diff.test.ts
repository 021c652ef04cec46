import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diff, diffAt, equal } from './diff.ts'

describe('diff', () => {
  it('names what was added, removed and changed, and takes lists as a whole', () => {
    const old = { spec: { a: 1, b: { c: 'x' }, list: [1, 2], same: { deep: [1] } } }
    const now = { spec: { a: 2, d: true, list: [2, 1], same: { deep: [1] } } }
    expect(diff(old, now)).toEqual([
      { op: 'change', path: ['spec', 'a'], old: 1, new: 2 },
      { op: 'remove', path: ['spec', 'b'], old: { c: 'x' }, new: undefined },
      { op: 'change', path: ['spec', 'list'], old: [1, 2], new: [2, 1] },
      { op: 'add', path: ['spec', 'd'], old: undefined, new: true },
    ])
  })

  it('from nothing is one addition of everything', () => {
    expect(diff(undefined, { spec: 1 })).toEqual([{ op: 'add', path: [], old: undefined, new: { spec: 1 } }])
  })

  it('is empty exactly for equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        expect(diff(left, right).length === 0).toBe(equal(left, right))
        expect(diff(left, structuredClone(left))).toEqual([])
      }),
    )
  })
})

describe('equal', () => {
  it('does not mind the order of keys or a field that is undefined, but the order of lists', () => {
    expect(equal({ a: 1, b: 2 }, { b: 2, a: 1, c: undefined })).toBe(true)
    expect(equal([1, 2], [2, 1])).toBe(false)
    expect(equal({}, [])).toBe(false)
    expect(equal(null, {})).toBe(false)
    expect(equal({ a: null }, {})).toBe(false)
  })
})

describe('diffAt', () => {
  const field = ['spec', 'size']
  it.each([
    ['at the field', { spec: { size: 1 } }, { spec: { size: 2 } }, 1],
    ['below it', { spec: { size: { w: 1, h: 1 } } }, { spec: { size: { w: 2, h: 1 } } }, 1],
    ['above it, when the branch came with it', {}, { spec: { size: 1 } }, 1],
    ['above it, when the branch came without it', {}, { spec: { color: 'red' } }, 0],
    ['beside it', { spec: { size: 1, color: 'a' } }, { spec: { size: 1, color: 'b' } }, 0],
  ])('counts a change %s', (_, old, now, count) => {
    expect(diffAt(diff(old, now), field)).toHaveLength(count)
  })
})
