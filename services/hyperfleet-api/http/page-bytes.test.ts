import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fittingSize, refuseLargePage } from './page-bytes.ts'

const MIB = 1024 * 1024

test('API-173 a page of 16 MiB is answered, one with a byte more is refused with the size that fits', () => {
  expect(() => refuseLargePage([8 * MIB, 8 * MIB])).not.toThrow()
  expect(() => refuseLargePage(Array(100).fill(MIB))).toThrow(
    'the 100 records of this page have 104857600 bytes, more than 16777216: ask for pages of size 16',
  )
  expect(() => refuseLargePage([8 * MIB, 8 * MIB + 1])).toThrow(
    expect.objectContaining({
      problem: 'pageTooLarge',
      errors: [{ field: 'size', message: 'must be at most 1 for these records' }],
    }),
  )
})

test('API-173 the size that is named fits wherever a page begins, and one more does not', () => {
  const sumFrom = (lengths: readonly number[], start: number, size: number) =>
    lengths.slice(start, start + size).reduce((sum, each) => sum + each, 0)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 30 }), (lengths) => {
      const size = fittingSize(lengths, 100)
      const fits = (of: number) => lengths.every((_, start) => sumFrom(lengths, start, of) <= 100)
      expect(fits(size)).toBe(true)
      if (size < lengths.length) expect(fits(size + 1)).toBe(false)
    }),
  )
})
