/**
 * Runs tests of a copy of the checkout again and again in one vitest, which costs a tenth of a start for each. It is told on its standard
 * input, a line at a time: `{"changed": "path of the module", "tests": "path"}`; it answers each line by `pass`, or by `fail` with
 * the messages of errors.
 */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createVitest } from 'vitest/node'

/** What it is told. */
export interface Trial {
  /** The module that has changed since the last trial. */
  readonly changed: string
  /** A test file, or a folder with a slash at its end. */
  readonly tests: string
}

if (import.meta.main) {
  const root = process.cwd()
  const vitest = await createVitest('test', {
    root,
    watch: false,
    project: ['unit'],
    maxWorkers: 1,
    pool: 'threads',
    // Answers have the output to themselves.
    reporters: [{ onInit: () => undefined }],
  })
  await vitest.standalone()
  let before = ''
  for await (const line of createInterface({ input: process.stdin })) {
    const { changed, tests } = JSON.parse(line) as Trial
    // The one before is as it was again.
    for (const path of new Set([changed, before])) vitest.invalidateFile(join(root, path))
    before = changed
    const files = await vitest.globTestSpecifications([tests])
    const run = await vitest.runTestSpecifications([...files])
    // It has those of earlier trials as well.
    const ids = new Set(files.map(({ moduleId }) => moduleId))
    const testModules = run.testModules.filter(({ moduleId }) => ids.has(moduleId))
    const errors = [
      ...run.unhandledErrors,
      ...testModules.flatMap((module) => [
        ...module.errors(),
        ...[...module.children.allTests('failed')].flatMap((test) => test.result().errors),
      ]),
    ] as readonly Error[]
    const failed =
      testModules.length < files.length ||
      files.length === 0 ||
      errors.length > 0 ||
      !testModules.every((module) => module.ok())
    process.stdout.write(failed ? `fail ${JSON.stringify(errors.map(({ message }) => message))}\n` : 'pass\n')
  }
  await vitest.close()
  process.exit(0)
}
