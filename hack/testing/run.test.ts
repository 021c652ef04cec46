import { execFile } from 'node:child_process'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** The beginning of a program, and its end, which prints what came of `end`. */
const IMPORTS = `
import { runTests } from ${JSON.stringify(join(import.meta.dirname, 'run.ts'))}
`
const PRINT = `
const files = end.cost.files.map(({ file }) => file)
const { tally: { failed, passed }, cost } = end
console.log(JSON.stringify({ failed, passed, files, measured: cost.busy > 0 }))
process.exit(0)
`

/** Runs two files of this folder, of which a change chooses those that it affects. */
const AFFECTED = `${IMPORTS}
import { affectedTests } from ${JSON.stringify(join(import.meta.dirname, 'changed.ts'))}
const end = await runTests({
  filter: ['hack/testing/tally.test.ts', 'hack/testing/arguments.test.ts'],
  options: { project: ['unit'] },
  again: false,
  select: (vitest, files) => affectedTests(vitest, files, process.argv.slice(1)),
}, () => undefined)
${PRINT}`

/** Runs one file twice, the second time when something is ready. */
const PARTS = `${IMPORTS}
const parts = ['one', 'other'].map((name) => ({ projects: ['unit'], ready: async () => console.log(name, 'is ready') }))
const end = await runTests({ filter: ['hack/testing/ci.test.ts'], options: {}, again: false, parts }, () => undefined)
${PRINT}`

/** Runs a file of tests that takes longer than the run may, and a part for which there is no time then. */
const OUT_OF_TIME = `${IMPORTS}
const options = { config: process.argv[1] }
const end = await runTests({ filter: [], options, again: true, endsAt: performance.now() + 25_000, parts: [{ projects: [] }, { projects: [] }] }, console.log)
${PRINT}`

/** Runs a file whose tests pass, and whose servers say at their end what was wrong. */
const WRONG_AT_THE_END = `${IMPORTS}
const end = await runTests({ filter: [], options: { config: process.argv[1] }, again: false }, () => undefined)
${PRINT}`

/** A test that is done, and one that hangs. */
const HANGING = `
import { test } from 'vitest'
test('passes', () => undefined)
test('hangs', { timeout: 600_000 }, () => new Promise(() => undefined))
`

interface Printed {
  /** Those before the end. */
  readonly lines: readonly string[]
  readonly end: unknown
}

const runProgram = async (program: string, ...programArgs: readonly string[]): Promise<Printed> => {
  const cache = await temporaryFolder('run')
  onTestFinished(() => rm(cache, { recursive: true }))
  const { VITEST: _, ...env } = process.env
  const args = ['--input-type=module', '--eval', program, ...programArgs]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { ...env, MUSTER_CACHE: cache },
  })
  const lines = stdout.trim().split('\n')
  return { lines: lines.slice(0, -1), end: JSON.parse(lines.at(-1) ?? '') }
}

// It starts a whole run of its own.
test('of the files that fit, a change runs those that it affects, and what they cost is known', {
  timeout: 240_000,
}, async () => {
  const { end } = await runProgram(AFFECTED, 'hack/testing/tally.ts')
  expect(end).toEqual({
    failed: [],
    passed: expect.toSatisfy((passed: number) => passed > 0),
    files: ['hack/testing/tally.test.ts'],
    measured: true,
  })
})

test('a change that affects none of them runs nothing, and that is no failure', async () => {
  const { end } = await runProgram(AFFECTED, 'README.md')
  expect(end).toMatchObject({ failed: [], passed: 0, files: [] })
})

test('parts run one after the other, each when it is ready, and count together', { timeout: 240_000 }, async () => {
  const { lines, end } = await runProgram(PARTS)
  const file = 'hack/testing/ci.test.ts'
  expect(end).toMatchObject({ failed: [], passed: 2, files: [file, file] })
  const told = lines.flatMap((line) => /^\w+ is ready|ci\.test\.ts/.exec(line)?.[0] ?? [])
  expect(told).toEqual(['one is ready', 'ci.test.ts', 'other is ready', 'ci.test.ts'])
})

/** Writes files of tests into a folder of their own. @returns the path of their configuration */
const folderOfTests = async (files: Readonly<Record<string, string>>, options: object = {}): Promise<string> => {
  const folder = await temporaryFolder('run-of-tests')
  onTestFinished(() => rm(folder, { recursive: true }))
  const config = `export default { test: ${JSON.stringify({ root: folder, include: ['*.test.ts'], ...options })} }`
  const all = Object.entries({ ...files, 'vitest.config.mjs': config })
  await Promise.all(all.map(([name, text]) => writeFile(join(folder, name), text)))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'vitest.config.mjs')
}

test('a run whose time is over ends by itself, with what it has found and what is missing', {
  timeout: 240_000,
}, async () => {
  const { lines, end } = await runProgram(OUT_OF_TIME, await folderOfTests({ 'hanging.test.ts': HANGING }))
  expect(lines).toContain("The run's time is over: its tests are told to end.")
  expect(end).toMatchObject({ passed: 1 })
  expect(end).toHaveProperty('failed', [
    expect.stringMatching(/^hanging\.test\.ts had not ended after \d+ s, and the run's time was over$/),
    "the run's time was over before its tests began",
  ])
})

test('what is found when the servers have stopped is told in the summary, for that is all that CI shows of a long run', {
  timeout: 240_000,
}, async () => {
  const config = await folderOfTests(
    {
      'passes.test.ts': "import { test } from 'vitest'\ntest('passes', () => undefined)",
      'servers.mjs':
        "export default () => () => { throw new Error('a process had an error\\nof the kind that nothing handled') }",
    },
    { globalSetup: ['servers.mjs'] },
  )
  const { end } = await runProgram(WRONG_AT_THE_END, config)
  expect(end).toMatchObject({
    passed: 1,
    failed: ['the end of the run: a process had an error\n  of the kind that nothing handled'],
  })
})
