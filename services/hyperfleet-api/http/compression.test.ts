import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { acceptsGzip, compressBody } from './compression.ts'

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['br, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0, *', false],
  ['br', false],
  ['gzip;q=nonsense', false],
])('Accept-Encoding %j takes gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected)
})

test('what is worth it is compressed, what is small is not', async () => {
  const large = Buffer.from('{"a":1}'.repeat(1000))
  expect(gunzipSync((await compressBody(large, 'gzip')) ?? '')).toEqual(large)
  expect(await compressBody(Buffer.from('{"a":1}'), 'gzip')).toBeUndefined()
})

// API-206
test('attack: many answers are compressed at once: those beyond a bound are sent as they are, so that none is in memory for waiting', async () => {
  const answer = 'x'.repeat(1024 * 1024)
  const all = () => Promise.all(Array.from({ length: 20 }, () => compressBody(answer, 'gzip')))
  for (const tried of [await all(), await all()])
    expect(tried.map((one) => one !== undefined)).toEqual([true, true, ...Array(18).fill(false)])
  expect(await compressBody('x'.repeat(3 * 1024 * 1024), 'gzip')).toBeDefined()
})

test('what a text is worth goes by its bytes, not its letters', async () => {
  const text = 'é'.repeat(1_000)
  expect(gunzipSync((await compressBody(text, 'gzip')) ?? '').toString()).toBe(text)
  expect(await compressBody('e'.repeat(1_000), 'gzip')).toBeUndefined()
})
