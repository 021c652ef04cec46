import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { BUILD_FLAGS, KUBERNETES_VERSION } from './binaries.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where things that can be made again are kept: `$MUSTER_CACHE`, else the platform's cache folder. */
export const cacheFolder = (env: Environment = process.env, platform = process.platform, home = homedir()): string => {
  if (env.MUSTER_CACHE) return env.MUSTER_CACHE
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'muster')
  return platform === 'darwin' ? join(home, 'Library', 'Caches', 'muster') : join(home, '.cache', 'muster')
}

const MODULES = ['go.mod', 'go.sum'] as const

/** Names one set of binaries: the same modules, flags and platform give the same name in every checkout. */
export const cacheKey = (
  contents: readonly (string | Buffer)[] = MODULES.map((file) => readFileSync(join(import.meta.dirname, file))),
  flags: readonly string[] = BUILD_FLAGS,
): string => {
  const hash = createHash('sha256')
  for (const part of [...contents, ...flags, process.platform, process.arch]) hash.update(part).update('\0')
  return `${KUBERNETES_VERSION}-${hash.digest('hex').slice(0, 12)}`
}

/** The folder of the binaries that this checkout wants, whether they are built or not. */
export const binariesFolder = (): string => join(cacheFolder(), 'controlplane', cacheKey(), 'bin')
