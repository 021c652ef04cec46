import { expect, test } from 'vitest'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'

const GOOD = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('a traceparent is read, and written the same', () => {
  const place = parseTraceparent(GOOD)
  expect(place).toEqual({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    isSampled: true,
  })
  expect(place && formatTraceparent(place)).toBe(GOOD)
})

test('a later version may say more', () => {
  expect(parseTraceparent(`cc${GOOD.slice(2)}-more`)?.spanId).toBe('b7ad6b7169203331')
})

test.each([
  [undefined],
  [''],
  ['nonsense'],
  [GOOD.toUpperCase()],
  [`ff${GOOD.slice(2)}`],
  [`${GOOD}-more`],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  [[GOOD, GOOD]],
])('%j is ignored', (header) => {
  expect(parseTraceparent(header)).toBeUndefined()
})
