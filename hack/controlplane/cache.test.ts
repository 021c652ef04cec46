import { expect, test } from 'vitest'
import { cacheFolder, cacheKey } from './cache.ts'

test.for([
  [{ MUSTER_CACHE: '/c', XDG_CACHE_HOME: '/x' }, 'linux', '/c'],
  [{ XDG_CACHE_HOME: '/x' }, 'linux', '/x/muster'],
  [{}, 'linux', '/home/me/.cache/muster'],
  [{}, 'darwin', '/home/me/Library/Caches/muster'],
] as const)('with %o on %s the cache is %s', ([env, platform, folder]) => {
  expect(cacheFolder(env, platform, '/home/me')).toBe(folder)
})

test('other modules or flags are another set of binaries, the same ones are the same', () => {
  const key = cacheKey(['module a', 'sum a'], ['-trimpath'])
  expect(key).toMatch(/^v1\.\d+\.\d+-[0-9a-f]{12}$/)
  expect(cacheKey(['module a', 'sum a'], ['-trimpath'])).toBe(key)
  expect(cacheKey(['module b', 'sum a'], ['-trimpath'])).not.toBe(key)
  expect(cacheKey(['module a', 'sum a'], [])).not.toBe(key)
})
