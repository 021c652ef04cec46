import { expect, test } from 'vitest'
import { toExponentialEven, toFixedEven } from './rounding.ts'

test.each([
  [0.5, 0, '0'],
  [1.5, 0, '2'],
  [2.5, 0, '2'],
  [0.125, 2, '0.12'],
  [0.375, 2, '0.38'],
  [1.005, 2, '1.00'],
  [2.4999, 0, '2'],
  [1e21, 2, '1000000000000000000000.00'],
  [0, 1, '0.0'],
])('%d with %d digits is %s', (value, digits, text) => {
  expect(toFixedEven(value, digits)).toBe(text)
})

test.each([
  [2.5, 0, '2e+0'],
  [3.5, 0, '4e+0'],
  [1.25, 1, '1.2e+0'],
  [1e30, 2, '1.00e+30'],
  [0, 1, '0.0e+0'],
])('%d in the scientific form with %d digits is %s', (value, digits, text) => {
  expect(toExponentialEven(value, digits)).toBe(text)
})
