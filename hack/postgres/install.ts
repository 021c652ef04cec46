import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { findPostgres } from './find.ts'

const run = promisify(execFile)

/** Why there is no PostgreSQL here, and what to do; undefined when there is one. Tests that need it skip with this reason. */
export const postgresMissing = (): string | undefined =>
  findPostgres() === undefined
    ? 'PostgreSQL is not installed: "apt-get install postgresql" (Debian), "brew install postgresql@17" (macOS)'
    : undefined

/** Installs Debian's package when PostgreSQL is missing and we may: as root on a machine with apt-get. */
export const ensurePostgres = async (say: (line: string) => void): Promise<void> => {
  if (postgresMissing() === undefined || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  say('Installing PostgreSQL (apt-get install postgresql) …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update', '-qq'], { env })
  await run('apt-get', ['install', '-qq', '--no-install-recommends', 'postgresql'], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  })
}
