import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Runs two files of this folder, of which a change chooses those that it affects, and prints what came of it. */
const PROGRAM = `
import { affectedTests } from ${JSON.stringify(join(import.meta.dirname, 'changed.ts'))}
import { runTests } from ${JSON.stringify(join(import.meta.dirname, 'run.ts'))}
const { tally, cost } = await runTests({
  filter: ['hack/testing/tally.test.ts', 'hack/testing/arguments.test.ts'],
  options: { project: ['unit'] },
  again: false,
  select: (vitest, files) => affectedTests(vitest, files, process.argv.slice(1)),
}, () => undefined)
const files = cost.files.map(({ file }) => file)
console.log(JSON.stringify({ failed: tally.failed, hasPassed: tally.passed > 0, files, measured: cost.total > 0 }))
process.exit()
`

const affectedBy = async (path: string): Promise<unknown> => {
  const cache = await temporaryFolder('run')
  onTestFinished(() => rm(cache, { recursive: true }))
  const { VITEST: _, ...env } = process.env
  const args = ['--input-type=module', '--eval', PROGRAM, path]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { ...env, MUSTER_CACHE: cache },
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

// It starts a whole run of its own.
test('of the files that fit, a change runs those that it affects, and what they cost is known', {
  timeout: 240_000,
}, async () => {
  expect(await affectedBy('hack/testing/tally.ts')).toEqual({
    failed: [],
    hasPassed: true,
    files: ['hack/testing/tally.test.ts'],
    measured: true,
  })
})

test('a change that affects none of them runs nothing, and that is no failure', async () => {
  expect(await affectedBy('README.md')).toMatchObject({ failed: [], hasPassed: false, files: [] })
})
