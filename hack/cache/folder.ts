import { homedir } from 'node:os'
import { join } from 'node:path'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where things that can be made again are kept: `$MUSTER_CACHE`, else the platform's cache folder. */
export const cacheFolder = (env: Environment = process.env, platform = process.platform, home = homedir()): string => {
  if (env.MUSTER_CACHE) return env.MUSTER_CACHE
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'muster')
  return platform === 'darwin' ? join(home, 'Library', 'Caches', 'muster') : join(home, '.cache', 'muster')
}
