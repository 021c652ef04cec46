import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import type { FileTally } from './tally.ts'

/** What a run of files came to. */
export interface Counted {
  readonly files: readonly FileTally[]
  /** Errors that no test caused. */
  readonly outside: readonly string[]
  readonly modules: readonly TestModule[]
}

/** A reporter that counts. */
export interface CountingReporter extends Reporter {
  /** Of the last run. Undefined before its end: a run that never ends, or never starts, has failed. */
  counted(): Counted | undefined
}

export const countingReporter = (): CountingReporter => {
  let counted: Counted | undefined
  return {
    counted: () => counted,
    onTestRunEnd: (modules, errors) => {
      counted = { files: modules.map(count), outside: errors.map(describeError), modules }
    },
  }
}

const describeError = ({ message }: SerializedError): string => `outside a test: ${message.split('\n')[0]}`

/** A suite that lacks what it needs says so in its name. */
const outermost = (test: TestCase | TestSuite): TestCase | TestSuite =>
  test.parent.type === 'suite' ? outermost(test.parent) : test

const count = (module: TestModule): FileTally => {
  const file = module.relativeModuleId
  const failed: string[] = []
  const skipped: string[] = []
  let passed = 0
  for (const test of module.children.allTests()) {
    const result = test.result()
    if (result.state === 'passed') passed++
    else if (result.state === 'skipped') skipped.push(result.note ?? `${file}: ${outermost(test).name}`)
    else failed.push(`${file} > ${test.fullName}`)
  }
  // A file that can't be loaded, or a hook that fails after the tests, has no test to blame.
  if (module.state() === 'failed' && failed.length === 0) failed.push(file)
  return { file, passed, failed, skipped }
}
