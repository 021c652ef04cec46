import { execFile } from 'node:child_process'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { TestSpecification, Vitest } from 'vitest/node'
import { type Affected, affectedByPath } from './affected.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

const run = promisify(execFile)

const git = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await run('git', [...args, '-z'], { cwd: REPOSITORY, maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\0').filter((path) => path !== '')
}

/** Paths in the repository of what differs from a commit, deleted files and new ones that git doesn't know yet included. */
export const changedPaths = async (since: string): Promise<readonly string[]> => [
  ...(await git('diff', '--name-only', '--no-renames', since)),
  ...(await git('ls-files', '--others', '--exclude-standard')),
]

/**
 * The test files that a change can affect: those that import what changed, and those that affected.ts adds because they start it, read it
 * or apply it.
 */
export const affectedTests = async (
  vitest: Vitest,
  files: readonly TestSpecification[],
  changed: readonly string[],
): Promise<readonly TestSpecification[]> => {
  const affected: Affected = affectedByPath(changed)
  if (affected === 'all') return files
  // vitest's own answer for `--related`; it asks only its configuration.
  vitest.config.related = changed.map((path) => join(REPOSITORY, path))
  const byImport = new Set((await vitest.getRelevantTestSpecifications()).map(({ moduleId }) => moduleId))
  vitest.config.related = undefined as unknown as string[]
  return files.filter(
    ({ moduleId }) =>
      byImport.has(moduleId) || affected.some((part) => relative(REPOSITORY, moduleId).startsWith(part)),
  )
}
