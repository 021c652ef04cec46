import type { Installable } from '../debian/install.ts'
import { findRedis } from './find.ts'

/** Why there is no Redis here, and what to do; undefined when there is one. Argo CD keeps its cache in it. */
export const redisMissing = (): string | undefined =>
  findRedis() === undefined
    ? 'Redis is not installed: "apt-get install redis-server" (Debian), "brew install redis" (macOS)'
    : undefined

export const REDIS: Installable = { title: 'Redis', package: 'redis-server', missing: redisMissing }
