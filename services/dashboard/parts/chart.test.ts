import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bar, widths } from './chart.ts'

test('parts fill the whole width, and the few among many are still seen', () => {
  expect(widths([9_997, 3, 0], 240)).toEqual([237, 3, 0])
  expect(widths([1, 1], 240)).toEqual([120, 120])
  expect(widths([0, 0], 240)).toEqual([0, 0])
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 8 }), (counts) => {
      const sizes = widths(counts, 240)
      const total = counts.reduce((sum, count) => sum + count, 0)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeCloseTo(total === 0 ? 0 : 240)
      for (const [at, count] of counts.entries()) expect((sizes[at] ?? 0) > 0).toBe(count > 0)
    }),
  )
})

test('a bar says in words what it shows', () => {
  const { html } = bar([
    { tone: 'good', word: 'succeeded', count: 12 },
    { tone: 'bad', word: 'failed', count: 1 },
    { tone: 'dim', word: 'offline', count: 0 },
  ])
  expect(html).toContain('aria-label="12 succeeded, 1 failed"')
  expect(bar([]).html).toContain('aria-label="none"')
})
