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

test('what a text is worth goes by its bytes, not its letters', async () => {
  const text = 'é'.repeat(1_000)
  expect(gunzipSync((await compressBody(text, 'gzip')) ?? '').toString()).toBe(text)
  expect(await compressBody('e'.repeat(1_000), 'gzip')).toBeUndefined()
})
