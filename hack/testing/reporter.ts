import type { Reporter, SerializedError, TestModule } from 'vitest/node'
import type { Tally } from './tally.ts'

/** A reporter that counts. */
export interface CountingReporter extends Reporter {
  tally(): Tally
}

/** Before the end of the run it counts one failure: a run that never ends, or never starts, has failed. */
export const countingReporter = (): CountingReporter => {
  let tally: Tally = { passed: 0, failed: ['the test run did not come to its end'], skipped: [] }
  return {
    tally: () => tally,
    onTestRunEnd: (modules, errors) => {
      tally = count(modules, errors)
    },
  }
}

const count = (modules: readonly TestModule[], errors: readonly SerializedError[]): Tally => {
  const failed: string[] = errors.map(({ message }) => `outside a test: ${message.split('\n')[0]}`)
  const skipped: string[] = []
  let passed = 0
  for (const module of modules) {
    const before = failed.length
    for (const test of module.children.allTests()) {
      const result = test.result()
      if (result.state === 'passed') passed++
      else if (result.state === 'skipped') skipped.push(result.note ?? `${module.relativeModuleId} gives no reason`)
      else failed.push(`${module.relativeModuleId} > ${test.fullName}`)
    }
    // A file that can't be loaded, or a hook that fails after the tests, has no test to blame.
    if (module.state() === 'failed' && failed.length === before) failed.push(module.relativeModuleId)
  }
  return { passed, failed, skipped }
}
