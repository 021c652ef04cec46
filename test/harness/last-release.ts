/** `muster` as the last release has it, beside today's: hack/compatibility/last-release.txt names its commit. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { Command } from './muster.ts'

const run = promisify(execFile)

const CHECKOUT = join(import.meta.dirname, '..', '..')

const COMMIT = readFileSync(join(CHECKOUT, 'hack', 'compatibility', 'last-release.txt'), 'utf8').trim()

/** Why the last release can't be had here; undefined when it can. */
export const lastReleaseMissing = (): string | undefined => {
  try {
    execFileSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: CHECKOUT, stdio: 'ignore' })
    return undefined
  } catch {
    return `the commit of the last release, ${COMMIT.slice(0, 7)}, is not in this checkout: fetch the whole history`
  }
}

/** A checkout of it, on today's dependencies. @returns what `startMuster` is given as command */
export const lastRelease = async (): Promise<Command> => {
  const folder = await temporaryFolder('last-release')
  const archive = join(folder, 'release.tar')
  await run('git', ['archive', `--output=${archive}`, COMMIT], { cwd: CHECKOUT })
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
  return [process.execPath, '--disable-warning=ExperimentalWarning', join(folder, 'cmd', 'muster.ts')]
}
