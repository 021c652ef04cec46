import { expect, test } from 'vitest'
import { type BinarySet, cacheKey } from './set.ts'

test('other modules or flags are another set of binaries, the same ones are the same', () => {
  const set = {
    title: 'it',
    name: 'it',
    module: '/m',
    version: 'v1.2.3',
    packages: {},
    flags: ['-trimpath'],
  } satisfies BinarySet
  const key = cacheKey(set, ['module a', 'sum a'])
  expect(key).toMatch(/^v1\.2\.3-[0-9a-f]{12}$/)
  expect(cacheKey(set, ['module a', 'sum a'])).toBe(key)
  expect(cacheKey(set, ['module b', 'sum a'])).not.toBe(key)
  expect(cacheKey({ ...set, flags: [] }, ['module a', 'sum a'])).not.toBe(key)
})
