import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** What is checked without running the code: the name for people, and the program of node_modules/.bin with its arguments. */
const CHECKS = [
  { name: 'types', program: 'tsc', args: ['--noEmit', '--pretty', 'false', '-p', '.'] },
  { name: 'format and lint', program: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { name: 'promises and circles', program: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'dead exports', program: 'knip', args: ['--include', 'files,exports,types,nsExports'] },
  { name: 'words', program: 'node', args: ['--disable-warning=ExperimentalWarning', 'hack/testing/check-words.ts'] },
] as const

const run = promisify(execFile)

/** Runs every check, one after the other because each uses all cores, and gives the names of those that failed. */
export const runChecks = async (say: (line: string) => void): Promise<readonly string[]> => {
  const failed: string[] = []
  for (const { name, program, args } of CHECKS) {
    try {
      await run(join(REPOSITORY, 'node_modules', '.bin', program), [...args], {
        cwd: REPOSITORY,
        maxBuffer: 64 * 1024 * 1024,
      })
      say(`✓ ${name} (${program})`)
    } catch (error) {
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
      say(`✗ ${name} (${program})`)
      say(indented(`${stdout}${stderr}`.trim() || message))
      failed.push(name)
    }
  }
  return failed
}

const indented = (text: string): string => stripVTControlCharacters(text).replace(/^/gm, '    ')
