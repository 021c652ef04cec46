import { expect, test } from 'vitest'
import { cacheFolder } from './folder.ts'

test.for([
  [{ MUSTER_CACHE: '/c', XDG_CACHE_HOME: '/x' }, 'linux', '/c'],
  [{ XDG_CACHE_HOME: '/x' }, 'linux', '/x/muster'],
  [{}, 'linux', '/home/me/.cache/muster'],
  [{}, 'darwin', '/home/me/Library/Caches/muster'],
] as const)('with %o on %s the cache is %s', ([env, platform, folder]) => {
  expect(cacheFolder(env, platform, '/home/me')).toBe(folder)
})
